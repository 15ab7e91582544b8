import { REQUIREMENT_VARIABLES, type Power, type VariableValues } from '@bulkhead/contract'

/** A power with its paths written by variables again: {workspace} says more to its reader than the folder it stands for. */
export function withVariables(power: Power, values: VariableValues): Power {
  const roots = REQUIREMENT_VARIABLES.flatMap((name) => (values[name] ?? []).map((root) => ({ name, root })))
    .toSorted((a, b) => b.root.length - a.root.length)
  const show = (pattern: string): string => {
    const found = roots.find(({ root }) => pattern === root || pattern.startsWith(root === '/' ? '/' : `${root}/`))
    if (found === undefined) return pattern
    const rest = pattern.slice(found.root === '/' ? 1 : found.root.length + 1)
    return rest === '' ? `{${found.name}}` : `{${found.name}}/${rest}`
  }
  const shown = (one: Power): Power => ({ ...one, fs: { read: one.fs.read.map(show), write: one.fs.write.map(show) } })
  return { ...shown(power), ceilings: (power.ceilings ?? []).map(shown) }
}
