import type { ToolListing } from '@bulkhead/contract'
import { jsonText, table } from './output.ts'
import { type Command, UsageError } from './command.ts'
import { diagnosticText, serverJson, serverTable } from './diagnostic-text.ts'
import { COMMON_DETAILS, COMMON_OPTIONS, openHost, readOptions } from './host-options.ts'
import { powerWords, UNCONFINED } from './plan-text.ts'

export const tools: Command = {
  usage: 'bulkhead tools [--powers] [--connect] [--json] [--workspace DIR] [--home DIR] [--trust-project]',
  details: `  --powers          the other way round: what can be reached here at all, and by which tools
  --connect         start or reach the MCP servers of the configuration, and list what they offer now
${COMMON_DETAILS}

LAYER is where a tool comes from, MODE what it does at most, GATED whether each call needs somebody to agree ("by host": although its
manifest says no), INTEGRITY what vouches for its bytes, SHADOWS which others of the name it hides, MAY what it can reach.`,

  async run(args) {
    const { values, positionals } = readOptions(args, { ...COMMON_OPTIONS, connect: { type: 'boolean' }, powers: { type: 'boolean' } })
    if (positionals.length > 0) throw new UsageError(`"tools" takes no further words, but got "${positionals.join(' ')}".`)
    const host = await openHost(values)
    try {
      if (values.connect) await host.mcp.connect()
      await host.tryWalls()
      const listing = host.tools()
      const servers = host.mcp.servers()
      process.stdout.write(values.json
        ? jsonText({ ...(values.powers ? { powers: byPower(listing) } : { tools: listing }), servers: serverJson(servers), diagnostics: host.diagnostics })
        : (values.powers ? powerTable(listing) : toolTable(listing)) + serverTable(servers) + host.diagnostics.map((found) => diagnosticText(found)).join(''))
    } finally {
      await host.close()
    }
    return 0
  },
}

const SOURCES = { mcp: 'mcp server', openapi: 'openapi document' } as const satisfies Record<NonNullable<ToolListing['server']>['kind'], string>
const HEADINGS = ['NAME', 'LAYER', 'EXTENSION', 'STATE', 'MODE', 'GATED', 'INTEGRITY', 'SHADOWS', 'MAY']

function toolTable(listing: readonly ToolListing[]): string {
  if (listing.length === 0) return 'No tools.\n'
  return table(HEADINGS, listing.map((tool) => [
    tool.name,
    tool.layer,
    tool.server ? `${SOURCES[tool.server.kind]} ${tool.server.name}` : `${tool.extension}@${tool.version}`,
    tool.state,
    tool.mode,
    tool.gatedByHost ? 'by host' : tool.gated ? 'yes' : 'no',
    tool.integrity,
    tool.shadows.map((other) => `${other.layer} ${other.extension}@${other.version}`).join(', ') || '-',
    mayOf(tool).join(', ') || 'nothing',
  ]))
}

const mayOf = (tool: ToolListing): readonly string[] => [...(tool.server?.unconfined ? [UNCONFINED] : []), ...powerWords(tool.may)]

interface HeldPower {
  readonly may: string
  readonly tools: readonly string[]
}

/** What any tool may do, each with all that may; those that touch the same stand together. */
const byPower = (listing: readonly ToolListing[]): readonly HeldPower[] =>
  [...Map.groupBy(listing.flatMap((tool) => mayOf(tool).map((may) => ({ may, tool: tool.name }))), ({ may }) => may)]
    .map(([may, held]) => ({ may, tools: held.map(({ tool }) => tool) }))
    .toSorted((a, b) => a.may < b.may ? -1 : 1)

function powerTable(listing: readonly ToolListing[]): string {
  const powers = byPower(listing)
  return powers.length === 0 ? 'No tool may do anything.\n' : table(['MAY', 'TOOLS'], powers.map(({ may, tools: names }) => [may, names.join(', ')]))
}
