export { createSandbox, type PooledSandbox, type SandboxOptions } from './sandbox.ts'
export type { OperatorEnvironment } from '@bulkhead/broker'
