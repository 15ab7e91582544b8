import { BulkheadError, declaredPower, powerItems, powerPhrases, type ToolListing } from '@bulkhead/contract'
import type { CallRow } from '@bulkhead/contract/audit'
import type { InstallPreview, ReachItem, ToolInput, ToolItem, ToolsView, ToolUse } from '@bulkhead/inspector/protocol'
import { visibleText } from '@bulkhead/kit/text'
import type { InspectedSession, Session, Surface } from '@bulkhead/host'
import type { Host } from '../create-host.ts'
import { homeFolder } from '../folders.ts'
import type { Inspectable } from '../inspectable.ts'
import { loaderOptions } from '../loader-options.ts'
import { problemsOf } from './health-view.ts'
import { lastOf, type RecentCalls } from './recent-use.ts'
import { sessionOf, withSession } from './sessions.ts'

const CHARS_PER_TOKEN = 4

/** The tools of a session that is open here, or as a new session would have them. */
export class ToolViews {
  readonly #host: Host
  readonly #inside: Inspectable
  readonly #recent: RecentCalls

  constructor(host: Host, inside: Inspectable, recent: RecentCalls) {
    this.#host = host
    this.#inside = inside
    this.#recent = recent
  }

  async view(id: string | undefined): Promise<ToolsView> {
    return withSession(this.#inside, id, (session) => this.#viewOf(session, id))
  }

  /** Throws NotFound. */
  input(name: string): ToolInput {
    const tool = this.#host.tool(name)
    if (tool === undefined) throw new BulkheadError('NotFound', `There is no tool "${visibleText(name)}".`)
    return { name: shown(tool.name), schema: tool.inputSchema }
  }

  async switch(id: string, tool: string, on: boolean): Promise<void> {
    const session = sessionOf(this.#inside, id)
    if (this.#host.tool(tool) === undefined) throw new BulkheadError('NotFound', `There is no tool "${visibleText(tool)}".`)
    session.switches.switch(tool, on)
  }

  /** Reads a package and installs nothing. Rejects with its fault. */
  async preview(source: string): Promise<InstallPreview> {
    const { Installer } = await import('@bulkhead/loader')
    const { places, home } = this.#inside
    const workspace = places.workspace
    const installer = new Installer({ loader: loaderOptions(homeFolder(home)), layer: 'global', workspace, cwd: workspace })
    const { extension: { id, version, integrity, signer, manifest }, warnings, verdict } = await installer.plan(source)
    const known = new Set(await withSession(this.#inside, undefined, async (session) => session.surface().words))
    const { env, secrets } = manifest
    const tools = manifest.tools.map(({ name, description, requires, inputSchema }) => {
      const may = powerPhrases(powerItems(declaredPower(requires, { env, secrets })), 'may').map(shown)
      const hidden = this.#host.tool(name)
      return {
        name: shown(name), may, adds: may.filter((words) => !known.has(words)), tokens: tokensOf({ name, description, inputSchema }),
        shadows: hidden ? [shown(`the ${hidden.layer} tool of ${hidden.extension} ${hidden.version}`)] : [],
      }
    })
    const problems = [...warnings, ...('reason' in verdict ? [String(verdict.reason)] : [])]
    return {
      extension: shown(id), version: shown(version), integrity, ...(signer && { signer: shown(signer.subject) }), tools,
      adds: [...new Set(tools.flatMap(({ adds }) => adds))], problems: problems.map(shown),
    }
  }

  async #viewOf(session: Session & Partial<InspectedSession>, id: string | undefined): Promise<ToolsView> {
    const { rows, words } = await this.#recent.read()
    const uses = Map.groupBy(rows, ({ tool }) => tool)
    const surface = session.surface()
    const offered = new Set(session.tools().map(({ name }) => name))
    const signers = new Map(this.#inside.core.inside.loaded().extensions.map((one) => [`${one.layer} ${one.id}`, one.signer?.subject]))
    const tools = this.#host.tools().map((tool) => toolItem(tool, {
      surface, use: useOf(uses.get(tool.name) ?? [], words), signer: signers.get(`${tool.layer} ${tool.extension}`),
      off: whyOff(tool, session, offered), fixed: id === undefined ? 'Choose a session that is open in this process.' : undefined,
    }))
    return {
      ...(id !== undefined && { session: shown(id) }), tools, reach: reachOf(surface),
      tokens: tools.reduce((sum, { on, tokens }) => on ? sum + tokens : sum, 0),
      diagnostics: problemsOf(this.#host),
    }
  }
}

function whyOff(
  { name }: ToolListing, session: Session & Partial<InspectedSession>, offered: ReadonlySet<string>,
): string | undefined {
  if (session.switches?.has(name)) return 'It was switched off for this session.'
  if (!offered.has(name)) return 'This session does not offer it.'
  return session.deniedAlways(name)
}

interface ItemParts {
  readonly surface: Surface
  readonly use: ToolUse
  readonly signer: string | undefined
  readonly off: string | undefined
  readonly fixed: string | undefined
}

function toolItem(tool: ToolListing, { surface, use, signer, off, fixed }: ItemParts): ToolItem {
  const { name, label, description, layer, extension, version, integrity, server, mode, gated } = tool
  const { may, shadows, state, inputSchema } = tool
  return {
    name: shown(name), label: shown(label), description: visibleText(description, { keepLines: true }), layer,
    extension: shown(extension), version: shown(version), integrity, ...(signer !== undefined && { signer: shown(signer) }),
    ...(server && { server: shown(`${server.kind} ${server.name}, ${server.address}`) }),
    ...(server?.unconfined && { unconfined: server.unconfined === 'network' ? 'its network is open' : 'it has no jail' }),
    mode, gated, may: powerPhrases(may, 'may').map(shown), adds: addedBy(name, surface),
    shadows: shadows.map((one) => shown(`the ${one.layer} tool of ${one.extension} ${one.version}`)),
    tokens: tokensOf({ name, description, inputSchema }), use, state, on: off === undefined,
    ...(off !== undefined && { off: shown(off) }), ...(fixed !== undefined && { fixed }),
  }
}

/** What no other tool and no agent could use. */
const addedBy = (name: string, { items, words }: Surface): readonly string[] =>
  words.filter((_, index) => {
    const { tools, agent } = items[index]!
    return !agent && tools.length === 1 && tools[0] === name
  }).map(shown)

const reachOf = ({ items, words }: Surface): readonly ReachItem[] =>
  items.map(({ kind, tools }, index) => ({ kind, words: shown(words[index]!), tools: tools.map(shown) }))

function useOf(rows: readonly CallRow[], from: string): ToolUse {
  const count = (test: (row: CallRow) => boolean): number => rows.filter(test).length
  return {
    calls: rows.length, failed: count(({ state }) => state === 'failed'), denied: count(({ state }) => state === 'denied'),
    asked: count(({ askedMs }) => askedMs !== undefined), ...lastOf(rows), from,
  }
}

const tokensOf = (definition: object): number => Math.ceil(JSON.stringify(definition).length / CHARS_PER_TOKEN)
const shown = (text: string): string => visibleText(text)
