export { createSandbox, type SandboxOptions } from './main/sandbox.ts'
