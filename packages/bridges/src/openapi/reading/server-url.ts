import { isJsonObject, type Json } from '@bulkhead/kit/json'

/** The URL of the first server, each variable with its default; null where there is none, or a variable has none. */
export function firstServer(servers: Json | undefined): string | null {
  const first = Array.isArray(servers) ? (servers as readonly Json[])[0] : undefined
  if (!isJsonObject(first) || typeof first['url'] !== 'string') return null
  const { url, variables } = first
  let isWhole = true
  const written = (url as string).replaceAll(/\{([^{}]*)\}/g, (_, name: string) => {
    const variable = isJsonObject(variables) && Object.hasOwn(variables, name) ? variables[name] : undefined
    const value = isJsonObject(variable) ? variable['default'] : undefined
    if (typeof value !== 'string') isWhole = false
    return String(value)
  })
  return isWhole ? written : null
}
