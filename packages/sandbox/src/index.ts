export { createSandbox, type PooledSandbox, type SandboxOptions } from './main/sandbox.ts'
