import { DISCOVERY, INTEGRITY } from './loader-discovery.ts'
import type { LoaderTarget } from './loader-place.ts'
import { REFUSED } from './loader-refusals.ts'
import { CONNECT, TRUST, WATCH } from './loader-trust.ts'
import { verifyPort, type PortGroups, type PortReport, type VerifyOptions } from './verify.ts'

/** What every loader must do, by experiment. */
export const LOADER_REQUIREMENTS = {
  discovery: DISCOVERY, integrity: INTEGRITY, refusals: REFUSED, trust: TRUST, watch: WATCH, connect: CONNECT,
} as const satisfies PortGroups<LoaderTarget>

/**
 * Verifies a loader with example packages in a temporary folder. Contract: does not throw for anything the loader does.
 * Rejects with ConfigInvalid for an unknown id in the options.
 */
export const verifyLoader = (target: LoaderTarget, options?: VerifyOptions): Promise<PortReport> =>
  verifyPort('loader', LOADER_REQUIREMENTS, target, options)
