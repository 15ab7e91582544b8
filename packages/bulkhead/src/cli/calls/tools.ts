import { powerPhrases, type ToolListing } from '@bulkhead/contract'
import { cacheFolder, homeFolder } from '../../facade/folders.ts'
import { rememberedWalls } from '../../facade/remembered-walls.ts'
import { diagnosticText, isInThread, OF_THREADS, printJson, serverJson, serverTable, table, UNCONFINED } from '../output.ts'
import { defineCommand } from '../command.ts'
import { COMMON_OPTIONS, foldersOf, openHost } from '../host-options.ts'
import { rememberedText } from '../walls-here.ts'

export const tools = defineCommand({
  options: {
    powers: { type: 'boolean', text: 'list permissions, each with the tools that have it' },
    connect: { type: 'boolean', text: 'connect to the configured MCP servers and list their current tools' },
    ...COMMON_OPTIONS,
  },
  details: `Columns: LAYER is the origin of the tool. MODE is how it acts. EFFECTS is what it means to
repeat a call: nothing (none), nothing more (idempotent), something that the tool can revert (reversible), or that it
happens once more (once). GATED tells whether each call
requires approval ("by host": required by the host, not by the manifest). INTEGRITY is how its files were verified
("pinned": a server or document of exact versions, which were checked when it was installed or fetched). SHADOWS lists
tools of the same name that it replaces. MAY lists what it can access. The line below says which walls of the system
stood when they were last tried; this command does not try them.`,
  examples: [
    { command: 'bulkhead tools', text: 'every tool, where it comes from and what it may do' },
    { command: 'bulkhead tools --powers', text: 'which tools may write files, use the network, run commands' },
    { command: 'bulkhead tools --json --workspace ../shop', text: 'the tools of another folder, for a script' },
  ],

  async run({ values }) {
    // Before the host creates folders.
    const cache = cacheFolder(homeFolder(values.home), foldersOf(values))
    await using host = await openHost(values)
    if (values.connect) await host.mcp.connect()
    await host.tryWalls()
    const listing = host.tools()
    const servers = host.mcp.servers()
    const { diagnostics } = host
    const inThreads = host.extensions().filter(isInThread).map(({ id }) => id)
    // Trying them would take as long as all the rest.
    const walls = rememberedWalls(cache)
    if (values.json) {
      const listed = values.powers ? { powers: byPower(listing) } : { tools: listing }
      printJson({ ...listed, servers: serverJson(servers), walls: walls ?? null, inThreads, diagnostics })
    } else {
      const listed = values.powers ? powerTable(listing) : toolTable(listing)
      const found = diagnostics.map((diagnostic) => diagnosticText(diagnostic)).join('')
      process.stdout.write(`${listed}${serverTable(servers)}\n${rememberedText(walls)}\n${threadText(inThreads)}${found}`)
    }
    return 0
  },
})

const threadText = (ids: readonly string[]): string =>
  ids.map((id) => `${id} runs in a thread of the host's process: ${OF_THREADS}.\n`).join('')

const SOURCES: Readonly<Record<NonNullable<ToolListing['server']>['kind'], string>> = {
  mcp: 'mcp server', openapi: 'openapi document',
}
const HEADINGS = ['NAME', 'LAYER', 'EXTENSION', 'STATE', 'MODE', 'EFFECTS', 'GATED', 'INTEGRITY', 'SHADOWS', 'MAY']

function toolTable(listing: readonly ToolListing[]): string {
  if (listing.length === 0) return 'No tools.\n'
  return table(HEADINGS, listing.map((tool) => [
    tool.name,
    tool.layer,
    tool.server ? `${SOURCES[tool.server.kind]} ${tool.server.name}` : `${tool.extension}@${tool.version}`,
    tool.state,
    tool.mode,
    tool.effects,
    tool.gatedByHost ? 'by host' : tool.gated ? 'yes' : 'no',
    tool.integrity,
    tool.shadows.map((other) => `${other.layer} ${other.extension}@${other.version}`).join(', ') || '-',
    mayOf(tool).join(', ') || 'nothing',
  ]))
}

const mayOf = (tool: ToolListing): readonly string[] =>
  [...(tool.server?.unconfined ? [UNCONFINED[`${tool.server.unconfined}`]] : []), ...powerPhrases(tool.may, 'does')]

interface HeldPower {
  readonly may: string
  readonly tools: readonly string[]
}

/** All permissions, sorted, each with the tools that have it. */
const byPower = (listing: readonly ToolListing[]): readonly HeldPower[] =>
  [...Map.groupBy(listing.flatMap((tool) => mayOf(tool).map((may) => ({ may, tool: tool.name }))), ({ may }) => may)]
    .map(([may, held]) => ({ may, tools: held.map(({ tool }) => tool) }))
    .toSorted((a, b) => a.may < b.may ? -1 : 1)

function powerTable(listing: readonly ToolListing[]): string {
  const powers = byPower(listing)
  return powers.length === 0
    ? 'No tool has permissions.\n'
    : table(['MAY', 'TOOLS'], powers.map(({ may, tools: names }) => [may, names.join(', ')]))
}
