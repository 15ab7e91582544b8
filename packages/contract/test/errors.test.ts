import { describe, expect, it } from 'vitest'
import { ERRORS, isErrorCode } from '../src/model/errors.ts'

describe('the table of errors', () => {
  it('has exactly these codes', () => {
    expect(Object.keys(ERRORS)).toEqual([
      'ShapeInvalid', 'ContractVersionMismatch', 'RequiredCoreVersionMismatch', 'ConfigSchemaInvalid',
      'SchemaCheckUnavailable', 'ConfigInvalid', 'ConfigSchemaViolation', 'RequirementInvalid', 'TextSuspicious',
      'RegistrationConflict', 'LockedIdRedefined',
      'DependencyMissing',
      'DependencyCycle', 'IntegrityFailed', 'IntegrityTokenMissing', 'SignatureInvalid', 'ConformanceUnproven',
      'SigningFailed', 'PackageUnsafe', 'DuplicateJsonKey', 'UsageInvalid', 'AgentNotFound', 'AgentInvalid',
      'ExtensionNotFound', 'InstallSourceInvalid', 'ConsentRequired', 'LockInvalid',
      'LockMismatch',
      'UpdateRefused', 'InstallSourceUnavailable', 'InstallBusy', 'InstallFailed', 'ProjectTrustRequired',
      'ProjectPathInvalid', 'TrustStoreUnavailable', 'TrustEntryInvalid', 'TrustScopeViolation', 'AllowlistWithoutMode',
      'ToolNotRegistered',
      'ToolsDisabled', 'InputInvalid', 'UndoConflict', 'CapabilityDenied', 'CapabilityUnavailable', 'RoleDenied',
      'RuleDenied',
      'WatchdogDenied', 'GuardDenied', 'ArgumentsUnsettled', 'ApprovalDenied', 'ApprovalKeyInvalid',
      'ApprovalKeyDerivationFailed',
      'CommandRejected', 'SubagentDepthExceeded', 'BudgetExhausted', 'HookVetoed', 'SkippedBySteering',
      'ToolExecutionFailed', 'ProgramFailed', 'ResourceBusy', 'NotFound', 'OutputMalformed', 'OutputTooLarge',
      'TooManyBytesRead', 'TooManyBytesWritten', 'TooManyBytesSent', 'TooManyBytesSaved', 'TooManyNestedCalls',
      'ExecutionTimeout', 'MaxRetriesExceeded', 'CallInterrupted', 'OutcomeUnknown', 'IdempotencyKeyReused',
      'IdempotencyKeyInUse', 'HostFrozen', 'NoWorkerReady', 'WorkerRefused', 'LeaseLost', 'ServerUnavailable',
      'SignInRequired', 'SignInFailed', 'ServerLost', 'ToolDefinitionChanged', 'TooManyCalls',
      'SessionCancelled', 'TurnCancelled',
      'ToolCancelled', 'TurnInvalid', 'HostClosed', 'CompartmentStartFailed', 'CompartmentStartTimeout', 'NoPlaceFree',
      'CompartmentCrashed', 'CompartmentKilled', 'CompartmentGone', 'CompartmentOutOfHeap', 'CompartmentOutOfMemory',
      'CompartmentOverloaded', 'CompartmentQuarantined', 'LockdownFailed', 'BoundaryViolation', 'MessageTooLarge',
      'MessageFlood', 'TooManyRequests', 'LogTruncated', 'BuiltinDenied', 'ModuleNotFound', 'ExportsMismatch',
      'LifecycleFailure', 'LifecycleTimeout', 'LifecyclePhaseInvalid', 'ReloadRefused', 'SlotAccessDenied',
      'SlotVersionMissing', 'SlotDriftRejected', 'SlotMigrationFailed', 'StateInvalid', 'EnvNameUndeclared',
      'EnvNameNotSet', 'InteractionUnavailable', 'SessionActiveElsewhere',
      'InteractionTimeout', 'InteractionAlreadyAnswered',
      'ClarificationNeeded', 'StoreUnavailable', 'InternalError',
    ])
  })

  it('gives each error a meaning and a cure, in whole sentences', () => {
    for (const [code, row] of Object.entries(ERRORS)) {
      expect(code).toMatch(/^[A-Z][A-Za-z]+$/)
      for (const text of [row.meaning, row.cure]) expect(text).toMatch(/^[A-Za-z`].*\.$/)
    }
  })

  it('marks transient errors as retryable, and terminal ones as not', () => {
    for (const row of Object.values(ERRORS)) {
      if (row.class === 'ToolTransient') expect(row.retryable).toBe(true)
      if (['ToolTerminal', 'Validation', 'Cancellation'].includes(row.class)) expect(row.retryable).toBe(false)
    }
  })

  it('cannot be changed', () => {
    expect(Object.isFrozen(ERRORS)).toBe(true)
    expect(Object.values(ERRORS).every((row) => Object.isFrozen(row))).toBe(true)
  })

  it('knows its own codes and no inherited name', () => {
    expect(Object.keys(ERRORS).every(isErrorCode)).toBe(true)
    const others = ['constructor', '__proto__', 'toString', '', 'shapeInvalid', 1, null, undefined, ['NotFound']]
    expect(others.filter(isErrorCode)).toEqual([])
  })
})
