/** For tests of programs that embed the host. Needs no test runner; `bulkhead/test/vitest` adds matchers. */
export { createFakeClock, type FakeClock } from './fake-clock.ts'
export type { FakeTool, FakeToolDefinition } from './fake-tools.ts'
export { createScriptedApprover, type ScriptedAnswer, type ScriptedApprover } from './scripted-approver.ts'
export type { TestExtension } from './test-extension.ts'
export { createTestHost, type TestHost, type TestHostOptions } from './test-host.ts'
