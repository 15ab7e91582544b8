import type { SandboxTarget } from './sandbox-bench.ts'
import { CALLS } from './sandbox-calls.ts'
import { ABORT, CLOSE, CRASH } from './sandbox-ends.ts'
import { LIFECYCLE } from './sandbox-lifecycle.ts'
import { POWERS } from './sandbox-powers.ts'
import { verifyPort, type PortGroups, type PortReport, type VerifyOptions } from './verify.ts'

/** What every sandbox must do, by experiment. */
export const SANDBOX_REQUIREMENTS = {
  lifecycle: LIFECYCLE, calls: CALLS, powers: POWERS, abort: ABORT, crash: CRASH, close: CLOSE,
} as const satisfies PortGroups<SandboxTarget>

/**
 * Verifies a sandbox with example extensions. Contract: does not throw for anything the sandbox does. Rejects with
 * ConfigInvalid for an unknown id in the options.
 */
export function verifySandbox(target: SandboxTarget, options?: VerifyOptions): Promise<PortReport> {
  const { abort, crash, ...inline } = SANDBOX_REQUIREMENTS
  return verifyPort('sandbox', target.placement === 'inline' ? inline : { ...inline, abort, crash }, target, options)
}
