import { readFileSync } from 'node:fs'
import { EVENT_MEANINGS, EVENT_TYPES, type EventType } from '../src/model/events.ts'

const SOURCE = readFileSync(new URL('../src/model/events.ts', import.meta.url), 'utf8')

const INTRODUCTION = `# Events

Everything that happens is one flat union, \`BulkheadEvent\`, discriminated by \`type\`. Subscribe with \`host.on(listener, types)\`. This page is
generated from \`packages/contract/src/model/events.ts\`. Which events are kept: [the audit](../guides/audit.md#records). Their order within a call:
[policy in code](../guides/hooks.md#order).

Every event has \`at\`, an ISO 8601 timestamp from the host's clock.
`

/** The members of an object type, on one line or several. */
const members = (text: string): readonly (readonly [name: string, type: string])[] =>
  [...text.matchAll(/readonly (\w+\??): ([^;\n]+?)(?=;| \}|\n)/g)].map(([, name, type]) => [name!, type!] as const)

function fieldsOf(type: EventType): readonly (readonly [name: string, type: string])[] {
  const [, own = '', shared] = new RegExp(`type: '${type}'([^}]*?)\\}(?: & (\\w+)\\))?$`, 'm').exec(SOURCE) ?? []
  const [, base = ''] = shared === undefined ? [] : new RegExp(`interface ${shared} (\\{[\\s\\S]*?\\n\\})`).exec(SOURCE) ?? []
  return [...members(base), ...members(`${own}}`.replace(/\s*\}$/, ' }'))]
}

/** docs/reference/events.md: one heading per event, in the order of the table. */
export function eventsPage(): string {
  return INTRODUCTION + EVENT_TYPES.map((type) => {
    const rows = fieldsOf(type).map(([name, form]) => `| \`${name}\` | \`${form.replaceAll('|', '\\|')}\` |\n`).join('')
    return `\n### ${type}\n\n${EVENT_MEANINGS[type]}\n${rows === '' ? '' : `\n| Field | Type |\n|---|---|\n${rows}`}`
  }).join('')
}
