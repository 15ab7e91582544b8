import { BulkheadError } from '@bulkhead/contract'

/**
 * A tenant logs in as a role of its own, and the name of the role says which tenant it is. So a login proves the tenant,
 * and a role of another kind, such as that of a store without tenants, can never become one by a row in a table.
 */
const prefixOf = (schema: string): string => `${schema}_tenant_`

/** The same for workers of a pool, and for maintenance. */
const poolPrefixOf = (schema: string): string => `${schema}_pool_`

/** As it is part of statements, it has no character that ends a text. */
const NAME = /^[a-z0-9][a-z0-9_-]*$/
/** Of names in PostgreSQL, in bytes. */
const LONGEST = 63

/** The role that a tenant logs in as. Throws ConfigInvalid for a name that no role can have. */
export function tenantRole(schema: string, tenant: string): string {
  requireTenantName(schema, tenant)
  return `${prefixOf(schema)}${tenant}`
}

/** The role that workers of a pool log in as. Throws ConfigInvalid. */
export function poolRole(schema: string, pool: string): string {
  requireName(poolPrefixOf(schema), pool, 'pool')
  return `${poolPrefixOf(schema)}${pool}`
}

export const isPoolRole = (schema: string, role: string): boolean => role.startsWith(poolPrefixOf(schema))

/** Throws ConfigInvalid. */
export const requireTenantName = (schema: string, tenant: string): void => requireName(prefixOf(schema), tenant, 'tenant')

function requireName(prefix: string, name: string, what: string): void {
  const most = LONGEST - prefix.length
  if (NAME.test(name) && name.length <= most) return
  throw new BulkheadError('ConfigInvalid', `"${name.slice(0, LONGEST)}" cannot be the name of a ${what}. `
    + `Use up to ${most} lower-case letters, digits, hyphens and underscores, with a letter or digit first.`)
}

/** The tenant of a role. Empty: that of every other role, the main one. */
export const tenantOf = (schema: string, role: string): string =>
  role.startsWith(prefixOf(schema)) ? role.slice(prefixOf(schema).length) : ''

/** The same as an expression of the server, about the role that runs a statement. */
export function currentTenant(schema: string): string {
  const prefix = prefixOf(schema)
  return `(CASE WHEN starts_with(current_user::text, '${prefix}') THEN substr(current_user::text, ${prefix.length + 1}) ELSE '' END
    COLLATE "C")`
}
