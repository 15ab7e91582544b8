import { parse, satisfies } from 'semver'
import { CONTRACT_VERSION } from '../model/names.ts'

/**
 * Whether a host with contract version `host` runs a manifest written for contract version `manifest`:
 * - The major versions are equal, and the manifest's minor version is not newer. A later minor version only adds optional fields and
 *   codes, so a newer host understands an older manifest. An older host would ignore what a newer manifest relies on.
 * - Patch versions change no format and do not count.
 * - Before 1.0.0 every minor version is incompatible with the others.
 * - A prerelease is compatible with itself only.
 * - An invalid version is compatible with nothing.
 */
export function contractCompatible(manifest: string, host: string = CONTRACT_VERSION): boolean {
  const wanted = parse(manifest)
  const offered = parse(host)
  if (wanted === null || offered === null) return false
  if (wanted.prerelease.length > 0 || offered.prerelease.length > 0) return wanted.version === offered.version
  if (wanted.major !== offered.major) return false
  return wanted.major === 0 ? wanted.minor === offered.minor : wanted.minor <= offered.minor
}

/** Whether a host version lies in `requiredCoreVersion`. No version satisfies an invalid range. */
export function coreSatisfies(range: string, host: string): boolean {
  return satisfies(host, range, { includePrerelease: false })
}
