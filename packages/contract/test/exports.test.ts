import { describe, expect, it } from 'vitest'
import * as audit from '../src/audit/index.ts'
import * as author from '../src/author/index.ts'
import * as dialects from '../src/dialects/index.ts'
import * as contract from '../src/index.ts'
import * as validation from '../src/validation/index.ts'

describe('the exports', () => {
  it('are pinned for @bulkhead/contract', () => {
    expect(Object.keys(contract).toSorted()).toEqual([
      'AGENT_TOOL', 'ANSWER_LIMITS', 'ANY_COMMAND', 'APPROVAL_ANSWERS', 'APPROVAL_COVERS', 'BROKER_METHODS',
      'BUNDLED_TOOLS',
      'BulkheadError', 'CALL_LIMITS', 'CODE_ITEMS', 'COMMAND_SEVERITIES', 'COMPARTMENT_LIMITS', 'CONFIG_FILE',
      'CONTRACT_VERSION', 'CREDENTIALS', 'DEFAULT_LIMITS', 'ERRORS', 'EVENT_TYPES', 'EXTENSION_ID_PATTERN',
      'HEADER_NAME_PATTERN', 'IGNORE_FILE', 'LAYERS', 'LIFECYCLE', 'LIFECYCLE_PHASES', 'LIFECYCLE_STATES',
      'LIMIT_EXAMPLES', 'LOCKED_TOOLS',
      'LOCK_FILE', 'LOCK_VERSION', 'LONGEST_TIMER_MS', 'MANIFEST_FILE', 'MANIFEST_LIMITS', 'MCP_HTTP_LIMITS',
      'NOTHING_ASIDE', 'NO_COMMAND_WALLS', 'NO_GRANT', 'NPM_NAME_CHARS', 'NPM_NAME_PATTERN', 'PLACEMENTS',
      'POOL_LIMITS', 'PROGRAM_TOOL', 'ProtectedPlaces', 'RECORD_LIMITS', 'REQUIREMENT_VARIABLES', 'RETRIED_CLASSES',
      'RULE_ACTIONS', 'RULE_CAPABILITIES', 'SECURITY_MODES', 'SENSITIVE', 'STORE_COLLECTIONS', 'SUBAGENTS',
      'SUBJECT_KINDS',
      'TOOL_INTERACTION_KINDS',
      'TOOL_MODES', 'TOOL_NAME_PATTERN', 'TREATMENTS', 'TREATMENT_PRESETS', 'TRUST_DECISIONS', 'ToolError',
      'VALIDATION_STAGES', 'WORKER_LABEL_PATTERN', 'WORKER_LIMITS', 'WORKSPACE_NAME_PATTERN',
      'actionWords', 'allowedPatterns', 'allowsNeed', 'argumentsLeftOut', 'auditRecord', 'beyond', 'byteSize',
      'capabilitiesMeant', 'carriesKeys', 'ceilingsOf', 'checkApprovalKey', 'checkRequirements', 'classifyEffects',
      'classifyToolMode',
      'comparePatterns', 'compileApprovalKey',
      'compileCeiling',
      'compileGrant', 'declaredCeiling', 'declaredPower', 'declaresSetting', 'defineExtension', 'defineTool',
      'denyingRule', 'dependencyCycleFault',
      'findIdConflicts',
      'findLockedToolFault', 'findToolNameConflicts', 'hasEffects', 'hostOfKey', 'isBundledTool', 'isCapability',
      'isCertificateVariable', 'isErrorCode', 'isEverything', 'isHeldBack', 'isKeyWithin', 'isLockedTool',
      'isOfCalls', 'isProxyVariable', 'isRepeatable', 'isUsualVariable', 'judgeRules', 'judgeUse', 'keyGrant',
      'kindOfTouch', 'layerRank', 'limitWords', 'localPower', 'matchArguments', 'mayChange', 'mayChangeDisk',
      'mayLoad',
      'mayReach', 'missingDependencyFault', 'mustBeNamed', 'namedTwice', 'namesSensitiveFiles', 'narrowPower',
      'nextState', 'obstacleOf', 'orderDependencies', 'patternsCross', 'portablePower', 'possibleRules', 'powerItems',
      'powerPhrases', 'protectionReason', 'readAnswerLimit',
      'readAssertion', 'readListedCall', 'requireOptions', 'rulePlace',
      'rulesFor', 'setAside', 'unknownSettings', 'untilWords', 'usesHome',
      'wholeAssertion', 'withCommonConfig', 'withHome',
      'withHomeVariable',
    ])
  })

  it('are pinned for @bulkhead/contract/author', () => {
    expect(Object.keys(author).toSorted()).toEqual(
      ['ToolError', 'declaredManifest', 'defineAgent', 'defineExtension', 'defineTool'],
    )
  })

  it('are pinned for @bulkhead/contract/validation', () => {
    expect(Object.keys(validation).toSorted()).toEqual([
      'agentManifestSchema', 'ceilingSet', 'commandSafetyPatternSchema', 'configFileSchema', 'conformanceReportSchema',
      'connectedManifestSchema', 'contractCompatible', 'coreSatisfies', 'firstFault', 'fixturesSchema', 'hostPattern',
      'lockFileSchema', 'machinePolicySchema', 'manifestSchema', 'placeIssues', 'pointerOf', 'policyTestSchema',
      'requirementSet',
      'ruleSchema',
    ])
  })

  it('are pinned for @bulkhead/contract/audit', () => {
    expect(Object.keys(audit).toSorted()).toEqual([
      'byWords', 'callKey', 'callKeyOf', 'callRowOf', 'cutText', 'eventRowOf', 'placed', 'readRows', 'readStory',
      'resultWords', 'storyLines', 'storyOf', 'wordsOf',
    ])
  })

  it('are pinned for @bulkhead/contract/dialects', () => {
    expect(Object.keys(dialects).toSorted()).toEqual([
      'acceptReturn', 'adviceOnArgument', 'adviceOnTool', 'canonicalCall', 'canonicalToolName', 'completeOutcome',
      'expandToolNames', 'fromCanonical', 'fromGrida', 'fromMcp', 'fromMorphix', 'fromPhi', 'fromPhiMessage',
      'fromSteerable', 'fromSteerableCall', 'fromStud', 'isTerminalOutcome', 'isTerminalResult', 'noteOfCut',
      'phiErrorText', 'readReturn', 'renameArguments', 'spellings', 'steerableToolCall', 'steerableToolResult',
      'textOfBlock', 'textOfContent', 'textOfData', 'toGrida', 'toGridaTool', 'toMcp', 'toMcpBlock', 'toMorphix',
      'toMorphixTool', 'toPhi', 'toPhiEvents', 'toPhiMessage', 'toPhiTool', 'toSteerable', 'toSteerableEvents',
      'toStud', 'toStudEvent', 'toStudTool', 'toolsSelectedBy',
    ])
  })

  it('resolve by these names', async () => {
    expect((await import('@bulkhead/contract')).BulkheadError).toBe(contract.BulkheadError)
    expect((await import('@bulkhead/contract/author')).defineExtension).toBe(author.defineExtension)
    expect((await import('@bulkhead/contract/validation')).manifestSchema).toBe(validation.manifestSchema)
    expect((await import('@bulkhead/contract/dialects')).acceptReturn).toBe(dialects.acceptReturn)
    expect(import.meta.resolve('@bulkhead/contract/schema/manifest.schema.json'))
      .toBe(new URL('../schema/manifest.schema.json', import.meta.url).href)
  })
})
