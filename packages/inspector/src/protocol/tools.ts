import type { JsonObject } from '@bulkhead/kit/json'

/** `GET api/tools?session=S`. Without a session: as a new one would have them. */
export interface ToolsView {
  readonly session?: string
  readonly tools: readonly ToolItem[]
  /** Everything that the session could reach, in words, one line each. */
  readonly reach: readonly ReachItem[]
  /** Of all definitions that a model gets. */
  readonly tokens: number
  /** What is wrong with extensions and servers, and what to do. */
  readonly diagnostics: readonly string[]
}

export interface ToolItem {
  readonly name: string
  readonly label: string
  readonly description: string
  readonly layer: 'bundled' | 'global' | 'project'
  readonly extension: string
  readonly version: string
  /** bundled, unpinned, pinned, verified or signed. */
  readonly integrity: string
  readonly signer?: string
  /** Set for a tool of a server: "mcp github, npx …". */
  readonly server?: string
  /** Set if no jail confines that server. */
  readonly unconfined?: string
  readonly mode: string
  readonly gated: boolean
  /** Its capabilities, in words. */
  readonly may: readonly string[]
  /** What only this tool adds to what the session could reach. */
  readonly adds: readonly string[]
  /** What it hides: "the bundled tool of read 1.0.0". */
  readonly shadows: readonly string[]
  /** Of its definition, as a model gets it. About. */
  readonly tokens: number
  readonly use: ToolUse
  readonly state: string
  /** Off: it is not offered in the session. */
  readonly on: boolean
  /** Why it is off or always denied. */
  readonly off?: string
  /** Why the switch does not work for this session. */
  readonly fixed?: string
}

/** Of the last 30 days, as far as the audit or the host knows. */
export interface ToolUse {
  readonly calls: number
  readonly failed: number
  readonly denied: number
  readonly asked: number
  readonly lastAt?: number
  /** Where the numbers are from, in words. */
  readonly from: string
}

export interface ReachItem {
  /** fs.read, fs.write, net, shell, capability, env, secret or state. */
  readonly kind: string
  readonly words: string
  readonly tools: readonly string[]
}

/** `GET api/tools/NAME`. What a form for a call of the tool is made from. */
export interface ToolInput {
  readonly name: string
  /** JSON Schema as the tool declares it. Nothing in it is escaped: values of it are sent back. */
  readonly schema: JsonObject
}

/** `POST api/tools/NAME`. Answers with a ToolsView of the session. */
export interface ToolSwitch {
  readonly session: string
  readonly on: boolean
}

/**
 * `POST api/install-preview`. What a package, folder or server would add, before it is accepted. Nothing of it runs, and
 * nothing is installed.
 */
export interface InstallPreviewRequest {
  /** A folder, a packed file, or a name in a registry, as `bulkhead install` takes it. */
  readonly source: string
}

export interface InstallPreview {
  readonly extension: string
  readonly version: string
  readonly integrity: string
  readonly signer?: string
  readonly tools: readonly Pick<ToolItem, 'name' | 'may' | 'adds' | 'tokens' | 'shadows'>[]
  /** What it adds to what a new session could reach. */
  readonly adds: readonly string[]
  readonly problems: readonly string[]
}
