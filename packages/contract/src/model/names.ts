import { BUNDLED_TOOLS, LOCKED_TOOLS } from './tool-names.ts'

export { BUNDLED_TOOLS, LOCKED_TOOLS }

/** The version of this contract. Manifests name the version they are written for. */
export const CONTRACT_VERSION = '1.0.0'
export const MANIFEST_FILE = 'bulkhead.json'
export const CONFIG_FILE = 'config.json'
/** In a workspace, in gitignore syntax: what no tool, command or server reads or writes. */
export const IGNORE_FILE = '.bulkheadignore'
/** In the folder of a layer: the packages that a person accepted. */
export const LOCK_FILE = 'bulkhead.lock'
export const LOCK_VERSION = 1

/** Extension ids are also folder names. Lower case avoids collisions on file systems that ignore case. */
export const EXTENSION_ID_PATTERN = /^[a-z][a-z0-9-]{0,63}$/
export const ENV_NAME_PATTERN = /^[A-Za-z_][A-Za-z0-9_]{0,127}$/
/** What a worker has, or where it is. */
export const WORKER_LABEL_PATTERN = /^[a-z0-9][a-z0-9._-]{0,63}(?:=[A-Za-z0-9][A-Za-z0-9._-]{0,63})?$/
/** What workers call a folder. */
export const WORKSPACE_NAME_PATTERN = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/
/** A token of HTTP, of limited length. */
export const HEADER_NAME_PATTERN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,128}$/

/** Agents are also file names, and types of sub-agents. */
export const AGENT_NAME_PATTERN = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$/

/** A package in an npm registry, with its scope if it has one. */
export const NPM_NAME_PATTERN = /^(?:@[a-z0-9~-][a-z0-9._~-]*\/)?[a-z0-9~-][a-z0-9._~-]*$/
export const NPM_NAME_CHARS = 214

export const LAYERS = ['bundled', 'global', 'project'] as const
/** Later layers shadow earlier ones by name. */
export type Layer = (typeof LAYERS)[number]
export const layerRank = (layer: Layer): number => LAYERS.indexOf(layer)

export const PLACEMENTS = ['inline', 'thread', 'process'] as const
/**
 * inline: the host's own thread, for bundled tools only. thread: a worker of the host. process: a worker in a child
 * process.
 */
export type Placement = (typeof PLACEMENTS)[number]

/** The strictest first. */
export const SECURITY_MODES = ['ask', 'allowlist', 'learn', 'yolo'] as const
/** ask: a new key asks a person. allowlist: listed keys pass, others ask. yolo: ask becomes allow, and nothing else. */
export type SecurityMode = (typeof SECURITY_MODES)[number]

/** Powers beyond files, hosts and commands. `state`, `env` and `secrets` follow from the manifest's own fields. */
export const CAPABILITY_NAMES = ['interact', 'tools.call', 'session'] as const
export type CapabilityName = (typeof CAPABILITY_NAMES)[number]

/** Variables that a path pattern may begin with. */
export const REQUIREMENT_VARIABLES = ['workspace', 'ad-hoc', 'user-data'] as const
export type RequirementVariable = (typeof REQUIREMENT_VARIABLES)[number]
/** In place of a command name: every installed command. */
export const ANY_COMMAND = '*'

export const RULE_ACTIONS = ['allow', 'ask', 'deny'] as const
export type RuleAction = (typeof RULE_ACTIONS)[number]

/** The permissions of a rule besides tool names and `*`. */
export const RULE_CAPABILITIES = ['fs.read', 'fs.write', 'shell.run', 'net.fetch'] as const
export type RuleCapability = (typeof RULE_CAPABILITIES)[number]

/** From mild to severe. A warning asks a person; a critical command is refused. */
export const COMMAND_SEVERITIES = ['warning', 'critical'] as const
export type CommandSeverity = (typeof COMMAND_SEVERITIES)[number]

/** Flat names, which every model API accepts. */
export const TOOL_NAME_PATTERN = /^[A-Za-z][A-Za-z0-9_-]{0,63}$/

export type LockedTool = (typeof LOCKED_TOOLS)[number]

export type BundledTool = (typeof BUNDLED_TOOLS)[number]

/** The bundled tool that starts sub-agents. */
export const AGENT_TOOL: LockedTool = 'task'
/** The bundled tool that runs programs whose calls are the session's own. It is off unless it is asked for. */
export const PROGRAM_TOOL: LockedTool = 'code_mode'

const locked: ReadonlySet<string> = new Set(LOCKED_TOOLS)
export const isLockedTool = (name: string): name is LockedTool => locked.has(name)

const bundled: ReadonlySet<string> = new Set(BUNDLED_TOOLS)
export const isBundledTool = (name: string): name is BundledTool => bundled.has(name)

export const TOOL_MODES = ['read', 'safe_write', 'destructive', 'local', 'external'] as const
/**
 * read: only reads. safe_write: a bounded change. destructive: cannot be undone. local: the user's machine. external:
 * other services.
 */
export type ToolMode = (typeof TOOL_MODES)[number]

/**
 * How calls are treated by the mode of their tool, from the strictest. ask: a person is asked, whatever `gated` says.
 * gate: the security mode decides about gated tools. run: the security mode asks nothing.
 */
export const TREATMENTS = ['ask', 'gate', 'run'] as const
export type Treatment = (typeof TREATMENTS)[number]

/** `steerable`: only what touches the machine of the user asks. */
export const TREATMENT_PRESETS = Object.freeze({
  default: Object.freeze({ read: 'gate', safe_write: 'gate', destructive: 'gate', local: 'ask', external: 'gate' }),
  steerable: Object.freeze({ read: 'run', safe_write: 'run', destructive: 'run', local: 'ask', external: 'run' }),
}) satisfies Readonly<Record<string, Readonly<Record<ToolMode, Treatment>>>>

export const TOOL_EFFECTS = ['none', 'idempotent', 'reversible', 'once'] as const
/**
 * What it means to repeat a call. none: it changes nothing. idempotent: a repetition changes nothing more. reversible:
 * the tool can revert it. once: it happens once more.
 */
export type ToolEffects = (typeof TOOL_EFFECTS)[number]

export const TOOL_KINDS = [
  'read', 'edit', 'delete', 'move', 'search', 'execute', 'think', 'fetch', 'switch_mode', 'other',
] as const
/** How an editor that supports ACP displays the call. */
export type ToolKind = (typeof TOOL_KINDS)[number]

export const DIALECTS = ['grida', 'mcp', 'morphix', 'phi', 'steerable', 'stud'] as const
/** The form of another runtime, in which a tool returns its results. */
export type Dialect = (typeof DIALECTS)[number]
