// Imports nothing, and uses no syntax that an old Node cannot parse: it must run where nothing else of Bulkhead does.
const LEAST_MAJOR = 26

/** The contract knows nothing else of Node. */
declare const process: { readonly versions: { readonly node: string } }

/** Why Bulkhead does not run on this version of Node, for people; undefined where it does. */
export function nodeVersionFault(version: string = process.versions.node): string | undefined {
  if (Number(version.split('.')[0]) >= LEAST_MAJOR) return undefined
  return `Bulkhead needs Node ${LEAST_MAJOR} or newer, because older versions cannot take the network away from a tool. This is Node ${version}.`
}

/** Throws where Bulkhead does not run on this version of Node. */
export function requireNodeVersion(): void {
  const fault = nodeVersionFault()
  if (fault !== undefined) throw new Error(fault)
}
