"""Waits until the compute service is up and every node is a hypervisor and a resource provider: wait_ready.py NODES.

One connection for all polls: a new one is a new token, and keystone is what the services starting beside us wait for.
"""
import subprocess
import sys
import time

import openstack

WANT = int(sys.argv[1])
CEILING = 180


def connect():
    return openstack.connect(auth_url='http://127.0.0.1:5000/v3', username='admin', password='admin', project_name='admin',
                             user_domain_id='default', project_domain_id='default', region_name='RegionOne',
                             interface='internal')


def seen(c):
    """None when all is well, else what is missing."""
    if not [x for x in c.compute.services() if x.binary == 'nova-compute' and x.state == 'up']:
        return 'nova-compute is not up'
    hypervisors = len(list(c.compute.hypervisors()))
    if hypervisors < WANT:
        # A service that the image has not seen must be mapped to its cell first; costs seconds, so only then.
        subprocess.run(['setpriv', '--reuid=nova', '--regid=nova', '--init-groups', 'nova-manage', 'cell_v2', 'discover_hosts'],
                       check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        return '%d of %d hypervisors' % (hypervisors, WANT)
    providers = len(list(c.placement.resource_providers()))
    return None if providers >= WANT else '%d of %d resource providers' % (providers, WANT)


cloud = None
last = 'nothing answered yet'
end = time.time() + CEILING
while time.time() < end:
    try:
        cloud = cloud or connect()
        last = seen(cloud)
        if last is None:
            sys.exit(0)
    except Exception as e:
        cloud = None
        last = repr(e)
    time.sleep(0.5)
print('openstack: not usable after %d s: %s' % (CEILING, last))
sys.exit(1)
