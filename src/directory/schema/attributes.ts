/** An attribute of a resource (RFC 7643 §2). */
export interface Attribute {
  name: string
  type: 'string' | 'boolean' | 'complex' | 'reference' | 'dateTime' | 'decimal' | 'integer' | 'binary' | 'any'
  multiValued: boolean
  description: string
  required: boolean
  caseExact: boolean
  mutability: 'readOnly' | 'readWrite' | 'immutable'
  returned: 'always' | 'default'
  uniqueness: 'none' | 'server'
  subAttributes?: readonly Attribute[]
  referenceTypes?: readonly string[]
}

const plain = {
  type: 'string',
  multiValued: false,
  description: '',
  required: false,
  caseExact: false,
  mutability: 'readWrite',
  returned: 'default',
  uniqueness: 'none',
} as const

const one = (name: string, description: string, more: Partial<Attribute> = {}): Attribute => ({
  ...plain,
  name,
  description,
  ...more,
})
const flag = (name: string, description: string, more: Partial<Attribute> = {}) =>
  one(name, description, { type: 'boolean', ...more })
const whole = (
  name: string,
  description: string,
  subAttributes: readonly Attribute[],
  more: Partial<Attribute> = {},
) => one(name, description, { type: 'complex', subAttributes, ...more })

const readOnly = { mutability: 'readOnly' } as const
const refTo = (...referenceTypes: string[]) =>
  ({ type: 'reference', referenceTypes, caseExact: true }) as const

/** A list of values with a kind and a display name, of which one is the primary one. */
const several = (name: string, description: string, value: Partial<Attribute> = {}) =>
  whole(
    name,
    description,
    [
      one('value', 'The value', value),
      one('display', 'A name for people'),
      one('type', 'The kind, such as work or home'),
      flag('primary', 'Whether this is the one to use'),
    ],
    { multiValued: true },
  )

/** A schema of resources (RFC 7643 §7). */
export interface Schema {
  id: string
  name: string
  description: string
  attributes: readonly Attribute[]
  /** It has other attributes, too: each tenant defines its own. */
  isOpen?: true
}

export const userUrn = 'urn:ietf:params:scim:schemas:core:2.0:User'
export const enterpriseUrn = 'urn:ietf:params:scim:schemas:extension:enterprise:2.0:User'
/** The attributes that a tenant defines for its members. */
export const bailiwickUrn = 'urn:ietf:params:scim:schemas:extension:bailiwick:2.0:User'
export const groupUrn = 'urn:ietf:params:scim:schemas:core:2.0:Group'

const userSchema: Schema = {
  id: userUrn,
  name: 'User',
  description: 'A member of the tenant, or a person who is to become one',
  attributes: [
    one('userName', 'What the directory calls the person, unique ignoring case', {
      required: true,
      uniqueness: 'server',
      returned: 'always',
    }),
    whole('name', 'The parts of the name', [
      one('formatted', 'The whole name'),
      one('familyName', 'The family name'),
      one('givenName', 'The given name'),
      one('middleName', 'The middle names'),
      one('honorificPrefix', 'Titles in front of the name'),
      one('honorificSuffix', 'Titles behind the name'),
    ]),
    one('displayName', 'The name for others to see'),
    one('nickName', 'The casual name'),
    one('profileUrl', 'The address of a page about the person', refTo('external')),
    one('title', 'The title, such as Vice President'),
    one('userType', 'The relation to the organisation, such as Contractor'),
    one('preferredLanguage', 'The language (RFC 9110 §12.5.4)'),
    one('locale', 'The form of dates and numbers (BCP 47)'),
    one('timezone', 'The time zone (IANA)'),
    flag('active', 'False suspends the member; true lifts a suspension by the directory', { required: true }),
    several('emails', 'Addresses. The primary one, else the first, is that of the account'),
    several('phoneNumbers', 'Telephone numbers'),
    several('ims', 'Addresses of instant messages'),
    several('photos', 'Addresses of pictures', refTo('external')),
    whole(
      'addresses',
      'Postal addresses',
      [
        one('formatted', 'The whole address'),
        one('streetAddress', 'Street and number'),
        one('locality', 'The city'),
        one('region', 'The state or region'),
        one('postalCode', 'The postal code'),
        one('country', 'The country (ISO 3166-1 alpha-2)'),
        one('type', 'The kind, such as work or home'),
        flag('primary', 'Whether this is the one to use'),
      ],
      { multiValued: true },
    ),
    whole(
      'groups',
      'The groups of the User',
      [
        one('value', 'The id of the group', readOnly),
        one('$ref', 'The address of the group', { ...refTo('Group'), ...readOnly }),
        one('display', 'The name of the group', readOnly),
        one('type', 'direct', readOnly),
      ],
      { multiValued: true, ...readOnly },
    ),
    several('entitlements', 'Kept, and without effect'),
    several('roles', 'Kept, and without effect: roles come from groups'),
  ],
}

const enterpriseSchema: Schema = {
  id: enterpriseUrn,
  name: 'EnterpriseUser',
  description: 'The person in the organisation',
  attributes: [
    one('employeeNumber', 'The number of the person'),
    one('costCenter', 'The cost centre'),
    one('organization', 'The organisation'),
    one('division', 'The division'),
    one('department', 'The department, by its name. An unknown name gives none'),
    whole('manager', 'The manager', [
      one('value', 'The id of the User who is the manager', { caseExact: true }),
      one('$ref', 'The address of the User', refTo('User')),
      one('displayName', 'The name of the manager', readOnly),
    ]),
  ],
}

/** What a tenant defines for its members, as `/Schemas` shows it. */
export const bailiwickSchema = (attributes: readonly Attribute[]): Schema => ({
  id: bailiwickUrn,
  name: 'BailiwickUser',
  description: 'What the tenant defines for its members. Policies read it as `subject.<name>`',
  attributes,
})

/** An attribute of an open schema: a text, a number, a boolean, or a list of these. */
export const openAttribute = (name: string): Attribute => one(name, '', { type: 'any', caseExact: true })

const groupSchema: Schema = {
  id: groupUrn,
  name: 'Group',
  description: 'A group of Users, to which rules give roles and a department',
  attributes: [
    one('displayName', 'The name, unique ignoring case', {
      required: true,
      uniqueness: 'server',
      returned: 'always',
    }),
    whole(
      'members',
      'The Users in the group',
      [
        one('value', 'The id of the User', { mutability: 'immutable', caseExact: true }),
        one('$ref', 'The address of the User', { ...refTo('User'), mutability: 'immutable' }),
        one('display', 'The name of the User', readOnly),
      ],
      { multiValued: true },
    ),
  ],
}

/** The attributes that every resource has (RFC 7643 §3.1). */
export const commonAttributes: readonly Attribute[] = [
  one('id', 'The id that the service gave', { ...readOnly, caseExact: true, returned: 'always' }),
  one('externalId', 'The id that the directory gave', { caseExact: true }),
  whole(
    'meta',
    'About the resource',
    ['resourceType', 'created', 'lastModified', 'location', 'version'].map((name) =>
      one(name, name, { ...readOnly, caseExact: true }),
    ),
    readOnly,
  ),
]

export const schemas: readonly Schema[] = [userSchema, enterpriseSchema, groupSchema]

/** A kind of resource with its schemas; `path` below `/scim/v2`. */
export interface ResourceType {
  name: 'User' | 'Group'
  path: string
  schema: Schema
  extensions: readonly Schema[]
}

export const userType: ResourceType = {
  name: 'User',
  path: '/Users',
  schema: userSchema,
  extensions: [enterpriseSchema, { ...bailiwickSchema([]), isOpen: true }],
}
export const groupType: ResourceType = { name: 'Group', path: '/Groups', schema: groupSchema, extensions: [] }
