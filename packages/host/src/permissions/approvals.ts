import type { Store } from '@bulkhead/contract'
import type { EventBus } from '../events.ts'
import type { ToolEntry } from '../tool-entry.ts'
import { sha256 } from '../sha256.ts'

/**
 * What a person has approved for longer than one call. An approval names the tool and key, and is bound to who
 * implements them in which bytes: whatever changes, the question is asked again.
 */
export class Approvals {
  /** Keys by the identity of their tool. */
  readonly #given = new Map<string, Set<string>>()
  readonly #project: ProjectApprovals

  constructor(project: ProjectApprovals) {
    this.#project = project
  }

  has(tool: ToolEntry, approvalKey: string): boolean {
    return this.#given.get(tool.identity)?.has(approvalKey) === true || this.#project.has(tool, approvalKey)
  }

  remember(tool: ToolEntry, approvalKey: string, scope: 'session' | 'project'): void {
    const keys = this.#given.get(tool.identity) ?? new Set()
    this.#given.set(tool.identity, keys.add(approvalKey))
    if (scope === 'project') this.#project.remember(tool, approvalKey)
  }
}

/** Approvals for every session in one workspace, kept in the store. A store that fails costs a question, never grants one. */
export class ProjectApprovals {
  readonly #store: Store
  readonly #prefix: string
  readonly #events: EventBus
  readonly #now: () => number
  readonly #known = new Set<string>()
  #loading: Promise<void> | undefined

  constructor(store: Store, workspace: string, events: EventBus, now: () => number) {
    this.#store = store
    this.#prefix = `${sha256(workspace)}/`
    this.#events = events
    this.#now = now
  }

  load(): Promise<void> {
    this.#loading ??= this.#store.list('approval', this.#prefix).then(
      (records) => {
        for (const { key } of records) this.#known.add(key)
      },
      (thrown: unknown) => {
        this.#loading = undefined
        this.#events.suppressed('reading project approvals', thrown)
      },
    )
    return this.#loading
  }

  has(tool: ToolEntry, approvalKey: string): boolean {
    return this.#known.size > 0 && this.#known.has(this.#keyOf(tool, approvalKey))
  }

  remember(tool: ToolEntry, approvalKey: string): void {
    const key = this.#keyOf(tool, approvalKey)
    this.#known.add(key)
    const { layer, extension, version } = tool.origin
    const record = { tool: tool.name, approvalKey, layer, extension, version, grantedAt: new Date(this.#now()).toISOString() }
    const report = (thrown: unknown) => this.#events.suppressed('keeping a project approval', thrown)
    this.#store.write('approval', key, record).catch(report)
  }

  #keyOf(tool: ToolEntry, approvalKey: string): string {
    // A key has no control characters, so the parts cannot run into each other.
    return this.#prefix + sha256(`${tool.identity}\0${approvalKey}`)
  }
}
