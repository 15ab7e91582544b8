import { satisfies, valid } from 'semver'

/** The contract this package is. Manifests name the one they are written for. */
export const CONTRACT_VERSION = '1.0.0'

/**
 * A host that speaks contract H runs a manifest written for M when both have the same major number and M is not newer
 * than H: within a major, later minors only add optional fields and codes, and patches change no form at all. A host
 * that is older than the manifest would silently ignore what the manifest relies on, so it refuses.
 * Before 1.0.0 every minor is a contract of its own.
 */
export function contractCompatible(manifest: string, host: string = CONTRACT_VERSION): boolean {
  if (valid(manifest) === null || valid(host) === null) return false
  const [manifestMajor, manifestMinor, manifestPatch] = numbers(manifest)
  const [hostMajor, hostMinor, hostPatch] = numbers(host)
  if (manifestMajor !== hostMajor) return false
  if (manifestMajor === 0) return manifestMinor === hostMinor && manifestPatch <= hostPatch
  // A patch never changes the form, so a newer patch of a minor this host has is as good.
  return manifestMinor <= hostMinor
}

/** Whether a host version lies in `requiredCoreVersion`. An unreadable range is satisfied by nothing. */
export function coreSatisfies(range: string, host: string): boolean {
  return satisfies(host, range, { includePrerelease: false })
}

function numbers(version: string): readonly [number, number, number] {
  const [major = 0, minor = 0, patch = 0] = version.split(/[.+-]/).slice(0, 3).map(Number)
  return [major, minor, patch]
}
