export { createSandbox, type PooledSandbox, type SandboxOptions } from './main/sandbox.ts'
export type { OperatorSurroundings } from '@bulkhead/broker'
