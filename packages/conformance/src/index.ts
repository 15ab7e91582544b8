export { conform, REQUIREMENTS, type CheckResult, type RequirementGroup, type SuiteOptions } from './suite.ts'
export type { Level, Requirement } from './requirement.ts'
export { unusedPowers, type UnusedPowers } from './powers.ts'
export { readFixtures, type Fixtures, type HttpAnswer } from './fixtures.ts'
export { createRecorder, type Recorder } from './recorder.ts'
export type { CallableExtension } from './services.ts'
export type { ConformanceTarget } from './target.ts'
export {
  badgeOf, junitOf, reportLines, reportOf, type Counts, type Mark, type Report, type ReportSources,
} from './report.ts'
export { sarifOf } from './sarif.ts'
export { conformance, type ConformanceOptions } from './vitest.ts'
export { LOADER_REQUIREMENTS, verifyLoader } from './ports/loader.ts'
export type { LoaderPlace, LoaderTarget } from './ports/loader-place.ts'
export type { PortGroup, PortReport, VerifyOptions } from './ports/verify.ts'
export { SANDBOX_REQUIREMENTS, verifySandbox } from './ports/sandbox.ts'
export type { SandboxTarget } from './ports/sandbox-bench.ts'
export { STORE_REQUIREMENTS, verifyStore } from './ports/store.ts'
export type { StorePlace, StoreTarget } from './ports/store-bench.ts'
export { HOST_REQUIREMENTS, verifyHost } from './ports/host.ts'
export type {
  HostPlace, HostTarget, VerifiedCall, VerifiedHost, VerifiedSession, VerifiedSessionOptions,
} from './ports/host-bench.ts'
export type {
  Departure, NamedTest, Specification, SpecificationName, SpecifiedRequirement,
} from './specifications/requirement-table.ts'
export { SPECIFICATIONS } from './specifications/specifications.ts'
