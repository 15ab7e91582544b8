import { requireNodeVersion } from '@bulkhead/kit/node-version'

// Check the version before importing the library: an old Node would fail on a missing builtin without a clear error.
requireNodeVersion()
const library = await import('./facade/library.ts')

export const {
  BulkheadError, callAsStep, COMMAND_SAFETY_PATTERNS, CORE_VERSION, createCommandClassifier, createHeadlessInteractor, createHost, createInspector,
  createProgrammaticInteractor, createTerminalInteractor, createWorker, defineAgent, defineTool, openKitPrompts,
  openSqliteStore, StepError,
} = library
export type StepError = InstanceType<typeof library.StepError>
export type BulkheadError = InstanceType<typeof library.BulkheadError>
export type * from './facade/library.ts'
