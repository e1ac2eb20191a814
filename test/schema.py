"""The part of JSON Schema that doc/schema uses, and one rule more: members must be described.

check(value, schema) returns the complaints, empty if the value is valid. Unknown keywords are an
error of the schema, so that nothing is written there which nobody checks.
"""
import re

IGNORED = {'$schema', '$id', 'title', 'description', '$defs'}
TYPES = {'object': dict, 'array': list, 'string': str, 'boolean': bool,
         'integer': int, 'number': (int, float)}


def resolve(ref, root):
    node = root
    for part in ref.removeprefix('#/').split('/'):
        node = node[part]
    return node


def check(value, schema, root=None, at='$'):
    root = schema if root is None else root
    bad = []
    for word, want in schema.items():
        if word in IGNORED or word in ('properties', 'additionalProperties', 'items', 'required'):
            continue
        if word == '$ref':
            bad += check(value, resolve(want, root), root, at)
        elif word == 'const':
            if value != want or isinstance(value, bool) != isinstance(want, bool):
                bad.append(f'{at} is {value!r}, not {want!r}')
        elif word == 'enum':
            if value not in want:
                bad.append(f'{at} is {value!r}, none of {want}')
        elif word == 'type':
            if not isinstance(value, TYPES[want]) or (want != 'boolean' and value is True) or \
                    (want != 'boolean' and value is False):
                bad.append(f'{at} is {value!r}, no {want}')
        elif word == 'minimum':
            if not value >= want:
                bad.append(f'{at} is {value!r}, below {want}')
        elif word == 'pattern':
            if not isinstance(value, str) or not re.search(want, value):
                bad.append(f'{at} is {value!r}, not like {want}')
        elif word == 'oneOf':
            results = [check(value, s, root, at) for s in want]
            fits = sum(not r for r in results)
            if fits == 0:
                bad += min(results, key=len)
            elif fits > 1:
                bad.append(f'{at} fits {fits} alternatives')
        else:
            raise ValueError(f'schema keyword {word} is not known here')
    if isinstance(value, dict):
        bad += [f'{at}.{name} is missing' for name in schema.get('required', []) if name not in value]
    if isinstance(value, dict) and 'properties' in schema:
        for name, x in value.items():
            if name in schema['properties']:
                bad += check(x, schema['properties'][name], root, f'{at}.{name}')
            else:
                bad.append(f'{at}.{name} is not described')
    if isinstance(value, dict) and 'additionalProperties' in schema:
        for name, x in value.items():
            bad += check(x, schema['additionalProperties'], root, f'{at}.{name}')
    if isinstance(value, list) and 'items' in schema:
        for i, x in enumerate(value):
            bad += check(x, schema['items'], root, f'{at}[{i}]')
    return bad
