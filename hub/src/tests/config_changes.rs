//! Changes of bootstrap configs, and their history.

use super::*;

const CONFIGS: &str = "/sites/lab/slurm-bootstrap-configs/";
const USER_DATA: &str = "I2Nsb3VkLWNvbmZpZwo=";

fn draft() -> Value {
    json!({
        "device_role": "gpu", "image": "i-1", "flavor": null, "features": ["dyn"], "gres": "gpu:h100:4",
        "user_data": USER_DATA, "node_source": "registers",
    })
}

/// A hub with the role's row, and the row's path.
async fn lab() -> (Lab, String) {
    let lab = Lab::new().await;
    let created = lab.post("hpc", CONFIGS, &draft()).await;
    assert_eq!(created.headers["etag"], "\"1\"");
    let path = path(&created.good());
    (lab, path)
}

fn path(row: &Value) -> String {
    format!("{CONFIGS}{}", row["id"].as_str().unwrap())
}

async fn patch(lab: &Lab, path: &str, if_match: &str, patch: &Value) -> Answer {
    lab.write_raw("PATCH", "hpc", path, patch.to_string(), &[("if-match", if_match)]).await
}

async fn read(lab: &Lab, path: &str) -> Value {
    lab.get("hpc", path).await.good()
}

async fn changes(lab: &Lab, path: &str) -> Vec<Value> {
    read(lab, &format!("{path}/history")).await["items"].as_array().unwrap().clone()
}

#[tokio::test]
async fn a_row_is_changed_under_its_etag() {
    let (lab, path) = lab().await;
    let one = lab.get("temporal-worker-lab", &path).await;
    assert_eq!(one.headers["etag"], "\"1\"");
    let mut row = one.good();
    lab.pass(60);
    let changed =
        patch(&lab, &path, "\"1\"", &json!({ "flavor": "f-1", "features": [], "gres": null })).await;
    assert_eq!((changed.status, &changed.headers["etag"]), (StatusCode::OK, &"\"2\"".parse().unwrap()));
    row["flavor"] = json!("f-1");
    row["features"] = json!([]);
    row["gres"] = json!("");
    row["revision"] = json!(2);
    row["updated_at"] = json!("2026-11-30T08:01:00Z");
    assert_eq!(changed.good(), row);
    assert_eq!(read(&lab, CONFIGS).await, json!({ "items": [row] }));
    // "revision" in the list is the next If-Match; null clears
    let clear = json!({ "image": null, "flavor": null, "user_data": null });
    let cleared = patch(&lab, &path, "\"2\"", &clear).await.good();
    assert_eq!(
        (&cleared["image"], &cleared["flavor"], &cleared["user_data"], &cleared["revision"]),
        (&Value::Null, &Value::Null, &Value::Null, &json!(3))
    );
}

#[tokio::test]
async fn without_the_row_s_revision_nothing_changes() {
    let (lab, path) = lab().await;
    patch(&lab, &path, "\"1\"", &json!({ "image": "i-2" })).await.good();
    let row = read(&lab, &path).await;
    let body = json!({ "image": "i-3" });
    let remedy = "read the row and send its ETag, which is its revision in quotes, such as If-Match: \"3\"";
    let missing = lab.write("PATCH", "hpc", &path, &body).await;
    assert_eq!((missing.problem(), missing.status.as_u16()), ("precondition-required", 428));
    assert_eq!(missing.body["detail"], format!("If-Match is missing; {remedy}"));
    let any = patch(&lab, &path, "*", &body).await;
    assert_eq!((any.problem(), any.status.as_u16()), ("precondition-required", 428));
    assert_eq!(any.body["detail"], format!("If-Match: * holds for any revision; {remedy}"));
    for stale in ["\"1\"", "\"3\"", "W/\"2\""] {
        let answer = patch(&lab, &path, stale, &body).await;
        assert_eq!((answer.problem(), answer.status.as_u16()), ("revision-moved", 412), "{stale}");
        assert_eq!(
            answer.body["detail"],
            "If-Match does not name the row's revision, which is 2; \
             read the row again, decide anew, and send If-Match: \"2\""
        );
    }
    let bare = patch(&lab, &path, "2", &body).await;
    assert_eq!((bare.fields(), bare.status.as_u16()), (vec!["If-Match"], 422));
    // a change that has been made by a lost call is not made again
    assert_eq!(patch(&lab, &path, "\"1\"", &json!({ "image": "i-2" })).await.problem(), "revision-moved");
    assert_eq!(read(&lab, &path).await, row);
    assert_eq!(changes(&lab, &path).await.len(), 2);
}

#[tokio::test]
async fn what_changes_nothing_makes_no_revision() {
    let (lab, path) = lab().await;
    let row = read(&lab, &path).await;
    lab.pass(60);
    for same in [json!({}), json!({ "image": "i-1", "flavor": null, "features": ["dyn"] })] {
        let answer = patch(&lab, &path, "\"1\"", &same).await;
        assert_eq!((answer.status, &answer.headers["etag"]), (StatusCode::OK, &"\"1\"".parse().unwrap()));
        assert_eq!(answer.good(), row);
    }
    assert_eq!(changes(&lab, &path).await.len(), 1);
}

#[tokio::test]
async fn the_row_it_comes_to_is_checked() {
    let (lab, path) = lab().await;
    let bad = json!({ "image": "", "features": ["a,b"], "gres": "gpu:", "user_data": "I2Nsb3Vk*" });
    let answer = patch(&lab, &path, "\"1\"", &bad).await;
    assert_eq!(answer.fields(), ["image", "features", "gres", "user_data"]);
    assert_eq!(
        answer.body["errors"][3],
        json!({
            "field": "user_data", "position": 8, "problem": "is not base64",
            "remedy": "encode it once with the standard alphabet and no line breaks, as `base64 -w0` does",
        })
    );
    let fixed = json!({ "id": "x", "site_id": "moon", "device_role": null, "revision": 7, "image": "i-2" });
    let answer = patch(&lab, &path, "\"1\"", &fixed).await;
    assert_eq!(
        (answer.fields(), answer.status.as_u16()),
        (vec!["id", "site_id", "device_role", "revision"], 422)
    );
    assert_eq!(answer.body["errors"][2]["problem"], "cannot be changed");
    assert_eq!(answer.body["errors"][2]["remedy"], "leave it out; another role's row is written by POST");
    for (body, field) in [
        (json!({ "node_source": null }), "node_source"),
        (json!({ "node_source": "dynamic" }), "node_source"),
        (json!({ "features": "dyn" }), "features"),
        (json!({ "colour": "red" }), "colour"),
        (json!(["i-2"]), "body"),
    ] {
        assert_eq!(patch(&lab, &path, "\"1\"", &body).await.fields(), [field], "{body}");
    }
    assert_eq!(read(&lab, &path).await["revision"], 1);
}

#[tokio::test]
async fn a_merge_patch_may_say_so() {
    let (lab, path) = lab().await;
    let send = async |kind: &str, tag: &str, body: Value| {
        let headers = [("if-match", tag), ("content-type", kind)];
        lab.write_raw("PATCH", "hpc", &path, body.to_string(), &headers).await
    };
    let merged = send("application/merge-patch+json", "\"1\"", json!({ "image": "i-2" })).await;
    assert_eq!(merged.good()["image"], "i-2");
    assert_eq!(send("application/json-patch+json", "\"2\"", json!([])).await.problem(), "media-type");
}

#[tokio::test]
async fn every_change_is_in_the_history() {
    let (lab, path) = lab().await;
    lab.pass(60);
    patch(&lab, &path, "\"1\"", &json!({ "user_data": null, "flavor": "f-1" })).await.good();
    lab.pass(60);
    patch(&lab, &path, "\"2\"", &json!({ "user_data": USER_DATA })).await.good();
    let (first, mut second, mut third) = (draft(), draft(), draft());
    second["flavor"] = json!("f-1");
    second["user_data"] = Value::Null;
    third["flavor"] = json!("f-1");
    let all = json!([
        { "revision": 3, "changed_at": "2026-11-30T08:02:00Z", "changed_by": "hpc", "before": second, "after": third },
        { "revision": 2, "changed_at": "2026-11-30T08:01:00Z", "changed_by": "hpc", "before": first, "after": second },
        { "revision": 1, "changed_at": "2026-11-30T08:00:00Z", "changed_by": "hpc", "before": null, "after": first },
    ]);
    let history = async |query: &str| lab.get("temporal-worker-lab", &format!("{path}/history{query}")).await;
    assert_eq!(history("").await.good(), json!({ "items": all, "next_cursor": null }));
    let page = history("?limit=2").await.good();
    assert_eq!(page, json!({ "items": [all[0], all[1]], "next_cursor": "2" }));
    let page = history("?limit=2&cursor=2").await.good();
    assert_eq!(page, json!({ "items": [all[2]], "next_cursor": null }));
    assert_eq!(history("?cursor=1").await.good(), json!({ "items": [], "next_cursor": null }));
    for (query, field) in [("?limit=0", "limit"), ("?limit=101", "limit"), ("?cursor=x", "cursor")] {
        assert_eq!(history(query).await.fields(), [field], "{query}");
    }
    assert_eq!(history("?page=2").await.fields(), ["query"]);
}

#[tokio::test]
async fn a_row_is_its_site_s_and_its_writers() {
    let (lab, path) = lab().await;
    let id = path.strip_prefix(CONFIGS).unwrap();
    let send = async |client: &str, path: &str| {
        lab.write_raw("PATCH", client, path, r#"{"image":"i-2"}"#, &[("if-match", "\"1\"")]).await
    };
    let answer = send("hpc-moon", &path).await;
    assert_eq!((answer.problem(), answer.status.as_u16()), ("other-site", 403));
    let moon = format!("/sites/moon/slurm-bootstrap-configs/{id}");
    let answer = send("hpc-moon", &moon).await;
    assert_eq!((answer.problem(), answer.status.as_u16()), ("not-found", 404));
    for path in [moon.clone(), format!("{moon}/history")] {
        assert_eq!(lab.get("hpc-moon", &path).await.problem(), "not-found");
    }
    assert_eq!(send("hpc", &format!("{CONFIGS}no-such-row")).await.problem(), "not-found");
    for agent in ["slurm-agent-lab", "temporal-worker-lab"] {
        let answer = send(agent, &path).await;
        assert_eq!((answer.problem(), answer.status.as_u16()), ("scope-missing", 403));
        assert_eq!(answer.body["detail"], "slurm-bootstrap-config:update is needed");
    }
    assert_eq!(read(&lab, &path).await["revision"], 1);
}

/// The poller's caches hold devices and conditions, no rows.
#[tokio::test]
async fn a_change_moves_no_rev() {
    let (lab, path) = lab().await;
    let revs = async || {
        let poll = json!({ "tick": Lab::tick(0) });
        let claim = lab.post("slurm-agent-lab", "/sites/lab/polls/", &poll).await.good();
        (claim["rev"].clone(), claim["devices_rev"].clone())
    };
    let before = revs().await;
    patch(&lab, &path, "\"1\"", &json!({ "image": "i-2" })).await.good();
    assert_eq!(revs().await, before);
}

/// A database of this name in the temporary folder, gone afterwards.
struct File(std::path::PathBuf);

impl File {
    fn new() -> Self {
        Self(std::env::temp_dir().join(format!("hub-configs-{}.sqlite", uuid::Uuid::new_v4())))
    }

    async fn lab(&self) -> Lab {
        Lab::on(Store::open(&self.0, &[site("lab"), site("moon")]).await.unwrap()).await
    }
}

impl Drop for File {
    fn drop(&mut self) {
        for end in ["", "-wal", "-shm"] {
            // SQLite removes its side files by itself when the last connection closes in time
            let _ = std::fs::remove_file(format!("{}{end}", self.0.display()));
        }
    }
}

/// Two hubs on one file, so that transactions truly meet.
#[tokio::test]
async fn of_changes_of_one_revision_one_wins() {
    let file = File::new();
    let (one, two) = (file.lab().await, file.lab().await);
    let path = path(&one.post("hpc", CONFIGS, &draft()).await.good());
    let body = |n: u32| json!({ "image": format!("race-{n}") });
    let (a, b, c, d) = (body(1), body(2), body(3), body(4));
    let other = json!({ "device_role": "cpu", "node_source": "static" });
    let (a, b, c, d, created) = tokio::join!(
        patch(&one, &path, "\"1\"", &a),
        patch(&two, &path, "\"1\"", &b),
        patch(&one, &path, "\"1\"", &c),
        patch(&two, &path, "\"1\"", &d),
        two.post("hpc", CONFIGS, &other),
    );
    assert_eq!(created.status, StatusCode::CREATED);
    let (won, lost): (Vec<Answer>, Vec<Answer>) =
        [a, b, c, d].into_iter().partition(|x| x.status.is_success());
    assert_eq!((won.len(), lost.len()), (1, 3));
    for answer in lost {
        assert_eq!(answer.problem(), "revision-moved");
    }
    assert_eq!(read(&two, &path).await, won[0].body);
    let changes = changes(&one, &path).await;
    assert_eq!((changes.len(), &changes[0]["after"]["image"]), (2, &won[0].body["image"]));
}

#[tokio::test]
async fn a_database_of_schema_1_has_its_history() {
    let file = File::new();
    let old = tokio_rusqlite::Connection::open(&file.0).await.unwrap();
    old.call(|c| c.execute_batch(include_str!("schema_1.sql"))).await.unwrap();
    old.close().await.unwrap();
    let lab = file.lab().await;
    let row = read(&lab, CONFIGS).await["items"][0].clone();
    assert_eq!((&row["revision"], &row["updated_by"]), (&json!(1), &json!("hpc-lab")));
    let path = path(&row);
    let created = json!({
        "revision": 1, "changed_at": "2026-11-30T15:13:04.846637797Z", "changed_by": "hpc-lab",
        "before": null, "after": draft(),
    });
    let before = changes(&lab, &path).await;
    assert_eq!((before.len(), &before[0]), (1, &created));
    patch(&lab, &path, "\"1\"", &json!({ "flavor": "f-1" })).await.good();
    let after = changes(&lab, &path).await;
    assert_eq!((after.len(), &after[1]), (2, &created));
    assert_eq!((&after[0]["changed_by"], &after[0]["before"]), (&json!("hpc"), &draft()));
}
