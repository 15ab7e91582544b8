import { describe, expect, it } from 'vitest'
import * as author from '../src/author/index.ts'
import * as dialects from '../src/dialects/index.ts'
import * as contract from '../src/index.ts'
import * as plain from '../src/plain.ts'

describe('what others may import', () => {
  it('from @bulkhead/contract', () => {
    expect(Object.keys(contract).toSorted()).toEqual([
      'AGENT_TOOL', 'ANY_COMMAND', 'APPROVAL_ANSWERS', 'BROKER_METHODS', 'BulkheadError', 'CALL_LIMITS', 'CAPABILITY_NAMES', 'CHANNELS',
      'COMMAND_SEVERITIES', 'COMMON_CONFIG_PROPERTIES', 'COMPARTMENT_LIMITS', 'COMPARTMENT_METHODS', 'CONFIG_FILE', 'CONTRACT_VERSION', 'DEFAULT_LIMITS',
      'ENV_NAME_PATTERN', 'ERRORS', 'EVENT_TYPES', 'EXTENSION_ID_PATTERN', 'EffectsLedger', 'HEADER_NAME_PATTERN', 'INTERACTION_KINDS', 'LAYERS', 'LIFECYCLE',
      'LIFECYCLE_PHASES', 'LIFECYCLE_STATES', 'LOCKED_TOOLS', 'LOCK_FILE', 'LOCK_VERSION', 'LONGEST_TIMER_MS', 'MANIFEST_FILE', 'MANIFEST_LIMITS', 'NO_GRANT', 'PLACEMENTS',
      'POWERS', 'ProtectedPlaces', 'REQUIREMENT_VARIABLES', 'RULE_ACTIONS', 'RULE_CAPABILITIES', 'RULE_SCOPES', 'SECURITY_MODES',
      'STORE_COLLECTIONS', 'SUBAGENTS', 'TOOL_INTERACTION_KINDS', 'TOOL_KINDS', 'TOOL_MODES', 'TOOL_NAME_PATTERN', 'TRUST_DECISIONS', 'ToolError',
      'VALIDATION_STAGES', 'WIRE_LIMITS', 'allowsNeed', 'auditRecord', 'beyond', 'capabilitiesMeant', 'ceilingSet', 'checkApprovalKey', 'checkRequirements',
      'classifyToolMode', 'commandSafetyPatternSchema', 'commandText', 'compileApprovalKey', 'compileCeiling', 'compileGrant', 'configFileSchema', 'contractCompatible',
      'coreSatisfies',
      'declaredCeiling', 'declaredPower', 'defineExtension', 'defineTool', 'dependencyCycleFault', 'findIdConflicts', 'findLockedToolFault',
      'findToolNameConflicts', 'givesAdvice', 'hasEffects', 
      'isErrorCode', 'isLockedTool', 'isTerminalResult', 'judgeRules', 'layerRank', 'leftPatterns', 'lockFileSchema',
      'manifestSchema', 'matchArguments', 'mayLoad', 'missingDependencyFault', 'mustBeNamed', 'narrowPower', 'nextState', 'orderDependencies', 'parseByteSize',
      'pathMatches', 'powerItems', 'protectionReason', 'requireOptions', 'requirementSet', 'ruleSchema', 'withCommonConfig',
    ])
  })

  it('from @bulkhead/contract/author', () => {
    expect(Object.keys(author).toSorted()).toEqual(['ToolError', 'defineExtension', 'defineTool'])
  })

  it('from @bulkhead/contract/plain, the same and no validator', () => {
    expect(Object.keys(plain).toSorted()).toEqual([
      'BulkheadError', 'ERRORS', 'HEADER_NAME_PATTERN', 'STORE_COLLECTIONS', 'auditRecord', 'givesAdvice', 
      'requireOptions', 
    ])
    expect(contract).toMatchObject({ ...plain })
  })

  it('from @bulkhead/contract/dialects', () => {
    expect(Object.keys(dialects).toSorted()).toEqual([
      'acceptReturn', 'canonicalCall', 'canonicalToolName', 'completeOutcome', 'fromCanonical', 'fromGrida', 'fromMcp', 'fromMorphix',
      'fromPhi', 'fromPhiMessage', 'fromSteerable', 'fromSteerableCall', 'fromStud', 'isTerminalOutcome', 'noteOfCut', 'phiErrorText',
      'readReturn', 'renameArguments', 'steerableToolCall', 'steerableToolResult', 'textOfContent', 'textOfData', 'toGrida', 'toMcp', 'toMorphix', 'toPhi',
      'toPhiEvents', 'toPhiMessage', 'toSteerable', 'toSteerableEvents', 'toStud', 'toStudEvent',
    ])
  })

  it('by these names', async () => {
    expect((await import('@bulkhead/contract')).manifestSchema).toBe(contract.manifestSchema)
    expect((await import('@bulkhead/contract/author')).defineExtension).toBe(author.defineExtension)
    expect((await import('@bulkhead/contract/plain')).BulkheadError).toBe(contract.BulkheadError)
    expect((await import('@bulkhead/contract/dialects')).acceptReturn).toBe(dialects.acceptReturn)
    expect(import.meta.resolve('@bulkhead/contract/schema/manifest.schema.json'))
      .toBe(new URL('../schema/manifest.schema.json', import.meta.url).href)
  })
})
