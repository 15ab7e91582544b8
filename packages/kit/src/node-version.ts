// Imports nothing and uses no new syntax, because it must run on old versions of Node.
const LEAST_MAJOR = 26

declare const process: { readonly versions: { readonly node: string } }

/** Why Bulkhead does not run on this version of Node, or undefined. */
export function nodeVersionFault(version: string = process.versions.node): string | undefined {
  if (Number(version.split('.')[0]) >= LEAST_MAJOR) return undefined
  return `Bulkhead needs Node ${LEAST_MAJOR} or newer, because older versions cannot block the network for a tool.`
    + ` This is Node ${version}.`
}

/** Throws if Bulkhead does not run on this version of Node. */
export function requireNodeVersion(): void {
  const fault = nodeVersionFault()
  if (fault !== undefined) throw new Error(fault)
}
