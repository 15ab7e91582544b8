import { describe, expect, it } from 'vitest'

describe('what others may import', () => {
  it('from @bulkhead/contract', async () => {
    expect(Object.keys(await import('@bulkhead/contract')).toSorted()).toEqual([
      'APPROVAL_ANSWERS', 'BROKER_METHODS', 'BulkheadError', 'CALL_LIMITS', 'CAPABILITY_NAMES', 'CHANNELS', 'COMMON_CONFIG_PROPERTIES',
      'COMPARTMENT_METHODS', 'CONFIG_FILE', 'CONTRACT_VERSION', 'DEFAULT_LIMITS', 'ENV_NAME_PATTERN', 'ERRORS', 'EXTENSION_ID_PATTERN',
      'INTERACTION_KINDS', 'JSON_LIMITS', 'LAYERS', 'LIFECYCLE', 'LIFECYCLE_PHASES', 'LIFECYCLE_STATES', 'LOCKED_TOOLS', 'MANIFEST_FILE',
      'MANIFEST_LIMITS', 'NO_GRANT', 'PLACEMENTS', 'POWERS', 'REQUIREMENT_VARIABLES', 'RULE_ACTIONS', 'RULE_CAPABILITIES', 'RULE_SCOPES',
      'SECURITY_MODES', 'STORE_COLLECTIONS', 'TOOL_INTERACTION_KINDS', 'TOOL_KINDS', 'TOOL_MODES', 'TOOL_NAME_PATTERN', 'ToolError',
      'VALIDATION_STAGES', 'WIRE_LIMITS', 'beyond', 'canonicalJson', 'checkApprovalKey', 'checkRequirements', 'classifyToolMode',
      'compileApprovalKey', 'compileGrant', 'configFileSchema', 'contractCompatible', 'coreSatisfies', 'defineExtension', 'defineTool',
      'findJsonFault', 'globCovers', 'hasEffects', 'hostCovers', 'hostMatches', 'intersectGrant', 'isErrorCode', 'isJsonObject',
      'isLockedTool', 'isTerminalResult', 'judgeRules', 'layerRank', 'manifestSchema', 'matchArguments', 'matchGlob', 'matchSegment',
      'messageOf', 'nextState', 'parseByteSize', 'parseJson', 'pathMatches', 'pointerStep', 'requirementSet', 'ruleSchema', 'visibleText',
      'withCommonConfig',
    ])
  })

  it('from @bulkhead/contract/author', async () => {
    expect(Object.keys(await import('@bulkhead/contract/author')).toSorted()).toEqual(['ToolError', 'defineExtension', 'defineTool'])
  })

  it('from @bulkhead/contract/dialects', async () => {
    expect(Object.keys(await import('@bulkhead/contract/dialects')).toSorted()).toEqual([
      'acceptReturn', 'canonicalToolName', 'completeOutcome', 'fromCanonical', 'fromGrida', 'fromMcp', 'fromMorphix', 'fromPhi',
      'fromPhiMessage', 'fromSteerable', 'fromSteerableCall', 'fromStud', 'isTerminalOutcome', 'phiErrorText', 'readReturn',
      'renameArguments', 'steerableToolCall', 'steerableToolResult', 'toGrida', 'toMorphix', 'toPhi', 'toPhiEvent', 'toPhiMessage',
      'toSteerable', 'toSteerableEvent', 'toStud', 'toStudEvent',
    ])
  })
})
