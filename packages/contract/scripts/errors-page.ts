import { ERRORS } from '../src/model/errors.ts'

const INTRODUCTION = `# Errors

Every error of Bulkhead has a code. A \`BulkheadError\`, an error outcome and a diagnostic carry it. This page is generated from
\`packages/contract/src/model/errors.ts\`; link to a code by its anchor, such as \`errors.md#capabilitydenied\`.

- **Class** is for models and embedders to branch on: \`Validation\` (rejected before anything ran), \`ToolTerminal\` and \`ToolTransient\` (one
  call), \`Session\`, \`Cancellation\`, \`ExtensionHost\` (the compartment or the host).
- **Fault** is who can fix it: the \`caller\`, the \`policy\`, the \`extension\`, the \`host\`, or a \`person\` who decided.
- **Retry** is whether the same call may succeed later. The host retries only if that does no harm.
`

const escaped = (text: string): string => text.replaceAll('<', '&lt;').replaceAll('\n', ' ')

/** docs/reference/errors.md: one heading, and so one anchor, per code, in the order of the table. */
export function errorsPage(): string {
  return INTRODUCTION + Object.entries(ERRORS).map(([code, { class: cls, fault, retryable, meaning, cure }]) => `
### ${code}

${escaped(meaning)} **Cure:** ${escaped(cure)}

Class \`${cls}\` · Fault: ${fault} · Retry: ${retryable ? 'yes' : 'no'}
`).join('')
}
