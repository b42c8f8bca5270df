import type { Sequence } from './replay.ts'

// Requests as Microsoft Entra ID sends them: https://learn.microsoft.com/entra/identity/app-provisioning/use-scim-to-provision-users-and-groups

const core = 'urn:ietf:params:scim:schemas:core:2.0:User'
const enterprise = 'urn:ietf:params:scim:schemas:extension:enterprise:2.0:User'
const patch = (...Operations: object[]) => ({
  schemas: ['urn:ietf:params:scim:api:messages:2.0:PatchOp'],
  Operations,
})
const list = (totalResults: number) => ({
  schemas: ['urn:ietf:params:scim:api:messages:2.0:ListResponse'],
  totalResults,
})
const ada = {
  schemas: [core, enterprise],
  externalId: 'oid-ada',
  userName: 'Ada@{domain}',
  active: true,
  displayName: 'Ada Lovelace',
  emails: [{ primary: true, type: 'work', value: 'Ada@{domain}' }],
  meta: { resourceType: 'User' },
  name: { formatted: 'Ada Lovelace', familyName: 'Lovelace', givenName: 'Ada' },
  roles: [],
}

export const entra: readonly Sequence[] = [
  {
    name: 'a connection is tested',
    steps: [
      ['GET /Users?filter=userName eq "no-such-user"', null, 200, { ...list(0), Resources: [] }],
      ['GET /Schemas', null, 200, { Resources: Array }],
      ['GET /ServiceProviderConfig', null, 200, { patch: { supported: true }, filter: { supported: true } }],
      ['GET /ResourceTypes', null, 200, list(2)],
    ],
  },
  {
    name: 'a User is made, found and refused a second time',
    steps: [
      ['GET /Users?filter=userName eq "Ada@{domain}"', null, 200, list(0)],
      ['POST /Users', ada, 201, { userName: 'Ada@{domain}', externalId: 'oid-ada', active: true }, 'ada'],
      ['GET /Users/{ada}', null, 200, { id: '{ada}', meta: { resourceType: 'User' } }],
      ['GET /Users?filter=userName eq "ada@{domain}"', null, 200, list(1)],
      ['GET /Users?filter=externalId eq "oid-ada"', null, 200, { Resources: [{ id: '{ada}' }] }],
      ['GET /Users?filter=id eq "{ada}" and active eq true', null, 200, list(1)],
      ['POST /Users', ada, 409, { scimType: 'uniqueness', status: '409' }],
    ],
  },
  {
    name: 'attributes are patched, in any spelling',
    steps: [
      ['POST /Users', ada, 201, {}, 'ada'],
      [
        'PATCH /Users/{ada}',
        patch(
          { op: 'Replace', path: 'emails[type eq "work"].value', value: 'ada.byron@{domain}' },
          { op: 'Replace', path: 'name.familyName', value: 'Byron' },
        ),
        200,
        { emails: [{ value: 'ada.byron@{domain}' }], name: { familyName: 'Byron', givenName: 'Ada' } },
      ],
      [
        'PATCH /Users/{ada}',
        patch({ op: 'Replace', path: 'userName', value: 'ada.byron@{domain}' }),
        200,
        { userName: 'ada.byron@{domain}' },
      ],
      [
        'PATCH /Users/{ada}',
        patch({ op: 'Add', path: 'phoneNumbers[type eq "mobile"].value', value: '+44 1' }),
        200,
        { phoneNumbers: [{ type: 'mobile', value: '+44 1' }] },
      ],
      [
        'PATCH /Users/{ada}',
        patch({ op: 'Add', path: 'addresses[type eq "work"].streetAddress', value: 'One Way' }),
        200,
        { addresses: [{ type: 'work', streetAddress: 'One Way' }] },
      ],
      [
        'PATCH /Users/{ada}',
        patch({ op: 'Add', path: 'emails[type eq "work"].primary', value: 'true' }),
        200,
        { emails: [{ primary: true }] },
      ],
      [
        'PATCH /Users/{ada}',
        patch({ op: 'Add', path: 'roles[primary eq "True"].value', value: 'Engineer' }),
        200,
        { roles: [{ primary: true, value: 'Engineer' }] },
      ],
      [
        'PATCH /Users/{ada}',
        patch({
          op: 'Replace',
          value: {
            displayName: 'A. Byron',
            'name.givenName': 'Augusta',
            [`${enterprise}:department`]: 'Sums',
          },
        }),
        200,
        { displayName: 'A. Byron', name: { givenName: 'Augusta' }, [enterprise]: { department: 'Sums' } },
      ],
      [
        'PATCH /Users/{ada}',
        patch({ op: 'Add', path: 'title', value: 'Countess' }),
        200,
        { title: 'Countess' },
      ],
      ['PATCH /Users/{ada}', patch({ op: 'Remove', path: 'title' }), 200, { title: undefined }],
      [
        'PATCH /Users/{ada}',
        patch({ op: 'Add', path: 'noSuchAttribute', value: 'x' }),
        400,
        { scimType: 'invalidPath' },
      ],
    ],
  },
  {
    name: 'a manager comes as a text or an object, behind a colon',
    steps: [
      ['POST /Users', ada, 201, {}, 'ada'],
      ['POST /Users', { ...ada, userName: 'boss@{domain}', externalId: 'b', emails: [] }, 201, {}, 'boss'],
      [
        'PATCH /Users/{ada}',
        patch({ op: 'Add', path: `${enterprise}:manager`, value: '{boss}' }),
        200,
        { [enterprise]: { manager: { value: '{boss}' } } },
      ],
      [
        'PATCH /Users/{ada}',
        patch({ op: 'Replace', path: `${enterprise}:manager`, value: { value: '{boss}' } }),
        200,
        { [enterprise]: { manager: { value: '{boss}' } } },
      ],
      [
        'PATCH /Users/{ada}',
        patch({ op: 'Remove', path: `${enterprise}:manager` }),
        200,
        { [enterprise]: undefined },
      ],
    ],
  },
  {
    name: 'a User is deactivated, activated, deleted after 30 days, and made again',
    steps: [
      ['POST /Users', ada, 201, {}, 'ada'],
      [
        'PATCH /Users/{ada}',
        patch({ op: 'Replace', path: 'active', value: 'False' }),
        200,
        { active: false },
      ],
      ['GET /Users/{ada}', null, 200, { active: false }],
      ['PATCH /Users/{ada}', patch({ op: 'Replace', path: 'active', value: 'True' }), 200, { active: true }],
      ['PATCH /Users/{ada}', patch({ op: 'Replace', path: 'active', value: false }), 200, { active: false }],
      ['DELETE /Users/{ada}', null, 204],
      ['DELETE /Users/{ada}', null, 404, { status: '404' }],
      ['GET /Users/{ada}', null, 404, { schemas: ['urn:ietf:params:scim:api:messages:2.0:Error'] }],
      ['POST /Users', ada, 201, { active: true }],
    ],
  },
  {
    name: 'a group is made, found, renamed and deleted',
    steps: [
      [
        'POST /Groups',
        {
          schemas: ['urn:ietf:params:scim:schemas:core:2.0:Group'],
          externalId: 'oid-crew',
          displayName: 'Crew',
          meta: { resourceType: 'Group' },
        },
        201,
        { displayName: 'Crew', externalId: 'oid-crew' },
        'crew',
      ],
      ['GET /Groups/{crew}?excludedAttributes=members', null, 200, { id: '{crew}', members: undefined }],
      [
        'GET /Groups?excludedAttributes=members&filter=displayName eq "crew"',
        null,
        200,
        { totalResults: 1, Resources: [{ id: '{crew}' }] },
      ],
      ['PATCH /Groups/{crew}', patch({ op: 'Replace', path: 'displayName', value: 'Team' }), 204],
      ['GET /Groups/{crew}', null, 200, { displayName: 'Team' }],
      ['DELETE /Groups/{crew}', null, 204],
      ['GET /Groups/{crew}', null, 404, {}],
    ],
  },
  {
    name: 'members come and go',
    steps: [
      ['POST /Users', ada, 201, {}, 'ada'],
      ['POST /Users', { ...ada, userName: 'bea@{domain}', externalId: 'b', emails: [] }, 201, {}, 'bea'],
      ['POST /Groups', { displayName: 'Crew', externalId: 'g' }, 201, {}, 'crew'],
      [
        'PATCH /Groups/{crew}',
        patch({ op: 'Add', path: 'members', value: [{ $ref: null, value: '{ada}' }] }),
        204,
      ],
      ['PATCH /Groups/{crew}', patch({ op: 'Add', path: 'members', value: [{ value: '{ada}' }] }), 204],
      ['GET /Groups/{crew}', null, 200, { members: [{ value: '{ada}' }] }],
      ['PATCH /Groups/{crew}', patch({ op: 'Add', path: 'members', value: [{ value: '{bea}' }] }), 204],
      ['PATCH /Groups/{crew}', patch({ op: 'Remove', path: 'members', value: [{ value: '{ada}' }] }), 204],
      ['GET /Groups/{crew}', null, 200, { members: [{ value: '{bea}' }] }],
      ['PATCH /Groups/{crew}', patch({ op: 'Remove', path: 'members[value eq "{ada}"]' }), 204],
      ['GET /Users/{bea}', null, 200, { groups: [{ value: '{crew}' }] }],
      ['PATCH /Groups/{crew}', patch({ op: 'Remove', path: 'members' }), 204],
      ['GET /Groups/{crew}', null, 200, { members: undefined }],
    ],
  },
]
