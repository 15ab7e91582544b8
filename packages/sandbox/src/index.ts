export { createServerJail, type ServerJailOptions } from './jail/server-jail.ts'
export { createSandbox, type PooledSandbox, type SandboxOptions } from './sandbox.ts'
export { RESIDENCY, type ResidencyEvent, type ResidencyState } from './session/residency.ts'
export { loadKeyCode, recoverUpdates, type OperatorEnvironment } from '@bulkhead/broker'
