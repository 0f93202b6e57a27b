"""Images, flavors and a quota, at build, so that a test needs no admin."""
import openstack
def conn(u, p): return openstack.connect(auth_url='http://127.0.0.1:5000/v3', username=u, password=u, project_name=p, user_domain_id='default', project_domain_id='default', region_name='RegionOne')
c = conn('admin', 'admin')
for n in ('debian-13', 'slurm-node-a', 'slurm-node-b'):
    c.image.create_image(name=n, data=n.encode() * 64, disk_format='raw', container_format='bare', visibility='public', validate_checksum=False)
c.image.create_image(name='queued', disk_format='raw', container_format='bare', visibility='public', allow_duplicates=True)
f = c.compute.create_flavor(name='bm.small', id='bm.small', ram=512, vcpus=1, disk=1)
c.compute.create_flavor_extra_specs(f, {'resources:CUSTOM_BAREMETAL': '1', 'resources:VCPU': '0', 'resources:MEMORY_MB': '0', 'resources:DISK_GB': '0'})
c.compute.create_flavor(name='vm.small', id='vm.small', ram=512, vcpus=1, disk=1)
f = c.compute.create_flavor(name='nohost', id='nohost', ram=64, vcpus=1, disk=1)
c.compute.create_flavor_extra_specs(f, {'resources:CUSTOM_NOPE': '1'})
c.set_compute_quotas('lab', instances=100, cores=500, ram=1000000)
