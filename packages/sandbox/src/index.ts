export { createSandbox, type PooledSandbox, type SandboxOptions } from './sandbox.ts'
export type { OperatorSurroundings } from '@bulkhead/broker'
