#!/usr/bin/env python3
"""Prints an HS256 token that SLURM's auth/jwt accepts: mkjwt.py USER [TTL_SECONDS] [KEYFILE]."""
import base64
import hashlib
import hmac
import json
import sys
import time


def b64(raw):
    return base64.urlsafe_b64encode(raw).rstrip(b'=').decode()


user = sys.argv[1]
ttl = int(sys.argv[2]) if len(sys.argv) > 2 else 3600
with open(sys.argv[3] if len(sys.argv) > 3 else '/var/spool/slurmctld/jwt_hs256.key', 'rb') as f:
    key = f.read()
now = int(time.time())
# exp must be a whole number: SLURM rejects a fraction
head = b64(json.dumps({'alg': 'HS256', 'typ': 'JWT'}, separators=(',', ':')).encode())
body = b64(json.dumps({'exp': now + ttl, 'iat': now, 'sun': user}, separators=(',', ':')).encode())
print(f"{head}.{body}.{b64(hmac.new(key, f'{head}.{body}'.encode(), hashlib.sha256).digest())}")
