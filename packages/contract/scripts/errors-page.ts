import { ERRORS } from '../src/errors.ts'

const INTRODUCTION = `# Errors

Every failure that Bulkhead names is a row of one table, \`packages/contract/src/errors.ts\`; this page is written from it by
\`pnpm generate\`. A \`BulkheadError\`, an error outcome and a diagnostic carry the code, and everything else follows from it.

**Class** says whose rule was broken, in the words that models and embedders branch on: \`Validation\` for what was refused
before anything ran, \`ToolTerminal\` and \`ToolTransient\` for one call, \`Session\` for the session around it,
\`Cancellation\` for what somebody stopped, \`ExtensionHost\` for the compartment and the host. **Fault** says who can do
something about it: the \`caller\`, the \`policy\` in force, the \`extension\`, the \`host\`, or a \`person\` who decided.
**Retry** says whether the very same call may succeed later; the host itself tries again only where that does no harm.

| Code | Class | Fault | Retry | Meaning | Cure |
|---|---|---|---|---|---|
`

const cell = (text: string): string => text.replaceAll('|', '\\|').replaceAll('\n', ' ')

/** docs/reference/errors.md, in the order of the table. */
export function errorsPage(): string {
  const rows = Object.entries(ERRORS).map(([code, { class: cls, fault, retryable, meaning, cure }]) =>
    ['', `\`${code}\``, cls, fault, retryable ? 'yes' : 'no', cell(meaning), cell(cure), ''].join(' | ').trim() + '\n')
  return INTRODUCTION + rows.join('')
}
