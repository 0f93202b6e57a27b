"""Accounts, roles and the catalog, at build. A user's password is its name."""
import openstack
c = openstack.connect(auth_url='http://127.0.0.1:5000/v3', username='admin', password='admin', project_name='admin',
                      user_domain_id='default', project_domain_id='default', region_name='RegionOne')
i = c.identity
roles = {r.name: r for r in i.roles()}
roles.setdefault('service', None) or roles.update(service=i.create_role(name='service'))
svc = i.create_project(name='service', domain_id='default')
for u in ('glance', 'placement', 'nova', 'neutron'):
    user = i.create_user(name=u, password='service', default_project_id=svc.id, domain_id='default')
    for r in ('admin', 'service'):
        i.assign_project_role_to_user(svc, user, roles[r])
for name, typ, url in (('glance', 'image', 'http://127.0.0.1:9292'), ('placement', 'placement', 'http://127.0.0.1:8778'),
                       ('nova', 'compute', 'http://127.0.0.1:8774/v2.1'), ('neutron', 'network', 'http://127.0.0.1:9696')):
    s = i.create_service(name=name, type=typ)
    for iface in ('public', 'internal'):
        i.create_endpoint(service_id=s.id, interface=iface, url=url, region_id='RegionOne')
roles['deployer'] = i.create_role(name='deployer')
p = i.create_project(name='lab', domain_id='default')
for u, r in (('worker', 'member'), ('reader', 'reader'), ('deployer', 'member')):
    user = i.create_user(name=u, password=u, default_project_id=p.id, domain_id='default')
    i.assign_project_role_to_user(p, user, roles[r])
    if u == 'deployer':
        i.assign_project_role_to_user(p, user, roles['deployer'])
