import type { Sequence } from './replay.ts'

// Requests as Okta sends them: https://developer.okta.com/docs/api/openapi/okta-scim/guides/scim-20/ and the 12 required steps of its SPEC test.

const core = 'urn:ietf:params:scim:schemas:core:2.0:User'
const patch = (...Operations: object[]) => ({
  schemas: ['urn:ietf:params:scim:api:messages:2.0:PatchOp'],
  Operations,
})
const ada = {
  schemas: [core],
  userName: 'ada@{domain}',
  name: { givenName: 'Ada', familyName: 'Lovelace' },
  emails: [{ primary: true, value: 'ada@{domain}', type: 'work' }],
  displayName: 'Ada Lovelace',
  locale: 'en-US',
  externalId: '00u-ada',
  groups: [],
  password: '1mz050nq',
  active: true,
}

export const okta: readonly Sequence[] = [
  {
    name: 'the 12 required steps of the SPEC test',
    steps: [
      [
        'GET /Users?count=1&startIndex=1',
        null,
        200,
        { schemas: ['urn:ietf:params:scim:api:messages:2.0:ListResponse'], itemsPerPage: 1, startIndex: 1 },
        'first',
      ],
      ['GET /Users/{first}', null, 200, { id: '{first}', userName: String, active: Boolean }],
      ['GET /Users?filter=userName eq "unknown@{domain}"', null, 200, { totalResults: 0, Resources: [] }],
      [
        'GET /Users/010101001010101011001010101011',
        null,
        404,
        { schemas: ['urn:ietf:params:scim:api:messages:2.0:Error'], status: '404', detail: String },
      ],
      ['POST /Users', ada, 201, { id: String, active: true, schemas: [core], password: undefined }, 'ada'],
      ['GET /Users/{ada}', null, 200, { userName: 'ada@{domain}', name: ada.name }],
      ['POST /Users', ada, 409, { status: '409', scimType: 'uniqueness' }],
      ['GET /Groups?count=100&startIndex=1', null, 200, { Resources: Array, startIndex: 1 }],
      ['PATCH /Users/{ada}', patch({ op: 'replace', value: { active: false } }), 200, { active: false }],
      ['PATCH /Users/{ada}', patch({ op: 'replace', value: { active: true } }), 200, { active: true }],
      [
        'PUT /Users/{ada}',
        { ...ada, id: '{ada}', name: { givenName: 'Augusta', familyName: 'King' } },
        200,
        { name: { givenName: 'Augusta', familyName: 'King' } },
      ],
      ['GET /Users?filter=userName eq "ADA@{domain}"', null, 200, { totalResults: 1 }],
    ],
  },
  {
    name: 'a User is kept up by PUT, and never deleted',
    steps: [
      ['POST /Users', ada, 201, {}, 'ada'],
      ['POST /Users', { ...ada, userName: 'ADA@{domain}', externalId: 'x' }, 409, { scimType: 'uniqueness' }],
      [
        'PUT /Users/{ada}',
        { ...ada, id: '{ada}', meta: { resourceType: 'User' }, userName: 'augusta@{domain}' },
        200,
        { userName: 'augusta@{domain}' },
      ],
      ['PUT /Users/{ada}', { ...ada, id: '{ada}', title: 'Countess' }, 200, { title: 'Countess' }],
      ['PUT /Users/{ada}', { ...ada, id: '{ada}' }, 200, { title: undefined }],
      ['PUT /Users/{ada}', { ...ada, id: '{ada}', active: false }, 200, { active: false }],
      ['GET /Users?filter=userName eq "ada@{domain}"', null, 200, { Resources: [{ active: false }] }],
      ['PUT /Users/{ada}', { ...ada, id: '{ada}' }, 200, { active: true }],
      ['PUT /Users/{ada}', { ...ada, id: '{ada}', userName: '' }, 400, { scimType: 'invalidValue' }],
    ],
  },
  {
    name: 'groups are pushed',
    steps: [
      ['POST /Users', ada, 201, {}, 'ada'],
      ['POST /Users', { ...ada, userName: 'bea@{domain}', externalId: 'b', emails: [] }, 201, {}, 'bea'],
      ['GET /Groups?filter=displayName eq "Crew"&startIndex=1&count=100', null, 200, { totalResults: 0 }],
      [
        'POST /Groups',
        {
          schemas: ['urn:ietf:params:scim:schemas:core:2.0:Group'],
          displayName: 'Crew',
          members: [{ value: '{ada}', display: 'ada@{domain}' }],
        },
        201,
        { displayName: 'Crew', members: [{ value: '{ada}' }] },
        'crew',
      ],
      ['POST /Groups', { displayName: 'crew' }, 409, { scimType: 'uniqueness' }],
      ['PATCH /Groups/{crew}', patch({ op: 'replace', value: { id: '{crew}', displayName: 'Team' } }), 204],
      [
        'PATCH /Groups/{crew}',
        patch(
          { op: 'remove', path: 'members[value eq "{ada}"]' },
          { op: 'add', path: 'members', value: [{ value: '{bea}', display: 'bea@{domain}' }] },
        ),
        204,
      ],
      ['GET /Groups/{crew}', null, 200, { displayName: 'Team', members: [{ value: '{bea}' }] }],
      [
        'PATCH /Groups/{crew}',
        patch({ op: 'replace', path: 'members', value: [{ value: '{ada}' }, { value: '{bea}' }] }),
        204,
      ],
      ['GET /Groups/{crew}', null, 200, { members: [{}, {}] }],
      [
        'PUT /Groups/{crew}',
        { displayName: 'Team', members: [{ value: '{ada}' }] },
        200,
        { members: [{ value: '{ada}' }] },
      ],
      ['PATCH /Groups/{crew}', patch({ op: 'replace', path: 'members', value: [] }), 204],
      ['GET /Groups/{crew}', null, 200, { members: undefined }],
      ['DELETE /Groups/{crew}', null, 204],
    ],
  },
  {
    name: 'Google deletes without deactivation',
    steps: [
      ['POST /Users', ada, 201, {}, 'ada'],
      ['DELETE /Users/{ada}', null, 204],
      ['GET /Users?filter=userName eq "ada@{domain}"', null, 200, { totalResults: 0 }],
    ],
  },
]
