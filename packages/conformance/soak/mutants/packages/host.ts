import type { Mutant } from '../mutant.ts'
import { HOST_CALL_LIMITS } from './host/call-limits.ts'
import { HOST_CALL_PROMISES } from './host/call-promises.ts'
import { HOST_POLICY_LIMITS } from './host/policy-limits.ts'
import { HOST_POLICY_PROMISES } from './host/policy-promises.ts'
import { HOST_REPLICA_PROMISES } from './host/replica-promises.ts'
import { HOST_RECORD_LIMITS } from './host/record-limits.ts'

export const HOST: readonly Mutant[] = [
  ...HOST_CALL_LIMITS, ...HOST_CALL_PROMISES, ...HOST_POLICY_LIMITS, ...HOST_POLICY_PROMISES, ...HOST_RECORD_LIMITS,
  ...HOST_REPLICA_PROMISES,
]
