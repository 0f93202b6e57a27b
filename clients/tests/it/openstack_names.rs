//! Images and flavors by id and by name.

use clients::Kind;
use clients::openstack::{Flavor, Image};
use serde_json::{Value, json};

use crate::fake::{Fake, Reply};
use crate::openstack::cloud;

const ID: &str = "4c2d913a-123d-402a-892c-cb88177793e5";
const IMAGES: &str = "GET /v2/images";
const FLAVORS: &str = "GET /v2.1/flavors/detail";

fn ids(images: &[Image]) -> Vec<&str> {
    images.iter().map(|i| i.id.as_str()).collect()
}

fn page(images: &[(&str, &str)], next: bool) -> Reply {
    let image = |(id, name): &(&str, &str)| json!({"id": id, "name": name, "status": "active"});
    let mut body = json!({"images": images.iter().map(image).collect::<Vec<Value>>()});
    if next {
        body["next"] = json!("/v2/images?marker=x");
    }
    Reply::json(200, &body)
}

fn queries(fake: &Fake, call: &str) -> Vec<String> {
    fake.asked(call).into_iter().map(|a| a.query).collect()
}

#[tokio::test]
async fn a_uuid_is_an_id_and_costs_one_request() {
    let (fake, openstack) = cloud().await;
    let call = format!("GET /v2/images/{ID}");
    fake.on(&call, [Reply::openstack("image-get"), Reply::openstack("image-get-missing")]);
    assert_eq!(ids(&openstack.images_called(ID).await.unwrap()), [ID]);
    assert_eq!(openstack.images_called(ID).await.unwrap(), []);
    assert_eq!((fake.asked(&call).len(), fake.asked(IMAGES).len()), (2, 0));
}

#[tokio::test]
async fn anything_else_is_the_name_of_active_images() {
    let (fake, openstack) = cloud().await;
    fake.on(IMAGES, [Reply::openstack("image-list-by-name"), Reply::openstack("image-list-by-name-none")]);
    let found = openstack.images_called("slurm-node").await.unwrap();
    assert_eq!(ids(&found), ["6229648e-bc9d-4e64-bda1-b1ceb63a1da8"]);
    assert_eq!(found[0].status, "active");
    assert_eq!(openstack.images_called("Debian 13/x").await.unwrap(), []);
    assert_eq!(queries(&fake, IMAGES), ["name=slurm-node&status=active", "name=Debian+13%2Fx&status=active"]);
}

#[tokio::test]
async fn several_images_of_one_name_are_all_named() {
    let (fake, openstack) = cloud().await;
    fake.on(IMAGES, [page(&[("a", "n"), ("b", "n")], true), page(&[("c", "n")], false)]);
    assert_eq!(ids(&openstack.images_called("n").await.unwrap()), ["a", "b", "c"]);
    assert_eq!(queries(&fake, IMAGES), ["name=n&status=active", "name=n&status=active&marker=b"]);
}

#[tokio::test]
async fn a_name_that_glance_takes_for_a_filter_finds_nothing_else() {
    let (fake, openstack) = cloud().await;
    fake.on(IMAGES, [page(&[("a", "x"), ("b", "y")], false)]);
    assert_eq!(openstack.images_called("in:x,y").await.unwrap(), []);
}

#[tokio::test]
async fn images_whose_pages_do_not_end_are_an_error() {
    let (fake, openstack) = cloud().await;
    fake.on(IMAGES, [page(&[("a", "n")], true)]);
    let error = openstack.images_called("n").await.unwrap_err();
    assert_eq!(error.kind, Kind::Malformed("pages that do not end".to_owned()));
    assert_eq!(fake.asked(IMAGES).len(), 2);
}

#[tokio::test]
async fn a_flavors_id_costs_one_request_and_its_name_two() {
    let (fake, openstack) = cloud().await;
    let bm = Flavor { id: "bm".to_owned(), name: "bm.small".to_owned() };
    fake.on("GET /v2.1/flavors/bm", [Reply::json(200, &json!({"flavor": {"id": "bm", "name": "bm.small"}}))]);
    for unknown in ["bm.small", "bm.large"] {
        fake.on(&format!("GET /v2.1/flavors/{unknown}"), [Reply::openstack("flavor-get-missing")]);
    }
    fake.on(FLAVORS, [Reply::openstack("flavor-list")]);
    assert_eq!(openstack.flavor_called("bm").await.unwrap(), Some(bm.clone()));
    assert_eq!(fake.asked(FLAVORS).len(), 0);
    assert_eq!(openstack.flavor_called("bm.small").await.unwrap(), Some(bm));
    assert_eq!(openstack.flavor_called("bm.large").await.unwrap(), None);
    assert_eq!(fake.asked(FLAVORS).len(), 2);
    assert_eq!(fake.asked(FLAVORS)[0].header("openstack-api-version"), Some("compute 2.90"));
}

#[tokio::test]
async fn a_flavor_on_a_later_page_is_found_and_what_can_be_no_id_is_not_asked_for_as_one() {
    let (fake, openstack) = cloud().await;
    let page = |id: &str, name: &str, more: bool| {
        let links = if more { json!([{"rel": "next", "href": "x"}]) } else { json!([]) };
        Reply::json(200, &json!({"flavors": [{"id": id, "name": name}], "flavors_links": links}))
    };
    fake.on(FLAVORS, [page("1", "a", true), page("2", "gpu/h100", false)]);
    let found = openstack.flavor_called("gpu/h100").await.unwrap();
    assert_eq!(found.map(|f| f.id).as_deref(), Some("2"));
    assert_eq!(queries(&fake, FLAVORS), ["", "marker=1"]);
}
