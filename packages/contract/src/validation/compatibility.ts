import { parse, satisfies } from 'semver'

/** The contract this package is. Manifests name the one they are written for. */
export const CONTRACT_VERSION = '1.0.0'

/**
 * Whether a host that speaks contract `host` runs a manifest written for contract `manifest`:
 * - the major numbers are equal, and the manifest's minor is not newer than the host's. Later minors only add optional
 *   fields and codes, so a newer host understands an older manifest; an older host would silently ignore what a newer
 *   manifest relies on, so it refuses;
 * - the patch does not count: patches change no form;
 * - before 1.0.0 every minor is a contract of its own;
 * - a prerelease is compatible with itself alone;
 * - what is not a version is compatible with nothing.
 */
export function contractCompatible(manifest: string, host: string = CONTRACT_VERSION): boolean {
  const wanted = parse(manifest)
  const spoken = parse(host)
  if (wanted === null || spoken === null) return false
  if (wanted.prerelease.length > 0 || spoken.prerelease.length > 0) return wanted.version === spoken.version
  if (wanted.major !== spoken.major) return false
  return wanted.major === 0 ? wanted.minor === spoken.minor : wanted.minor <= spoken.minor
}

/** Whether a host version lies in `requiredCoreVersion`. An unreadable range is satisfied by nothing. */
export function coreSatisfies(range: string, host: string): boolean {
  return satisfies(host, range, { includePrerelease: false })
}
