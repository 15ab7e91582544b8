/**
 * Validators of files and values: zod schemas, and version checks. Kept apart because loading zod and semver takes
 * longer than the rest.
 */
export { agentManifestSchema } from './agent.ts'
export { configFileSchema } from './config.ts'
export { conformanceReportSchema } from './conformance.ts'
export { hostPattern } from './fields.ts'
export { fixturesSchema, type FixtureAnswers } from './fixtures.ts'
export { firstFault, placeIssues, pointerOf, type PlacedIssue } from './issues.ts'
export { lockFileSchema } from './lock.ts'
export { machinePolicySchema } from './machine-policy.ts'
export { connectedManifestSchema, contractCompatible, coreSatisfies, manifestSchema } from './manifest.ts'
export { policyTestSchema, type PolicyCase, type PolicyTest } from './policy-test.ts'
export { commandSafetyPatternSchema, ruleSchema } from './policy.ts'
export { ceilingSet, requirementSet } from './requirements.ts'
