import type { HostTarget } from './host-bench.ts'
import { CALLS } from './host-calls.ts'
import { END } from './host-end.ts'
import { POLICY } from './host-policy.ts'
import { verifyPort, type PortGroups, type PortReport, type VerifyOptions } from './verify.ts'

/** What every host must do, by experiment. */
export const HOST_REQUIREMENTS = { calls: CALLS, policy: POLICY, end: END } as const satisfies PortGroups<HostTarget>

/**
 * Verifies a host with an example package in a temporary folder. Contract: does not throw for anything the host does.
 * Rejects with ConfigInvalid for an unknown id in the options.
 */
export const verifyHost = (target: HostTarget, options?: VerifyOptions): Promise<PortReport> =>
  verifyPort('host', HOST_REQUIREMENTS, target, options)
