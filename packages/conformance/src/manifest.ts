import { CALL_LIMITS, isLockedTool, type ToolManifest } from '@bulkhead/contract'
import { isJsonObject } from '@bulkhead/kit/json'
import type { PackageFacts } from './package.ts'
import { firstFact, firstOf, type Requirement } from './requirement.ts'
import { validatorOf } from './validators.ts'

const SPEC = 'docs/reference/manifest.md'
const PUBLISHING = 'docs/guides/publishing.md'

/** A requirement on each tool of the manifest. */
export const eachTool = (evidence: (tool: ToolManifest, facts: PackageFacts) => string | undefined | false) =>
  (facts: PackageFacts): string | undefined =>
    firstFact(facts.extension.manifest.tools.map((tool) => ({ tool })), ({ tool }) => evidence(tool, facts))

/** The first two items with the same key. */
function twins<Item>(items: readonly Item[], key: (item: Item) => string): readonly [Item, Item] | undefined {
  const [first, second] = Map.groupBy(items, key).values().find(({ length }) => length > 1) ?? []
  return first === undefined || second === undefined ? undefined : [first, second]
}

const MIN_DESCRIPTION = 20
const MOST_DESCRIPTION = 1_024
const MOST_TOOLS = 32
const LONG_TIMEOUT_MS = 10 * 60_000
const SHORT_TIMEOUT_MS = 1_000

export const MANIFEST_REQUIREMENTS: readonly Requirement<PackageFacts>[] = [
  {
    id: 'manifest-warnings', level: 'must', spec: SPEC,
    statement: 'The texts of the manifest have no hidden characters and no instructions to models.',
    why: 'A model must see the same text as a person, and a description is no prompt.',
    cure: 'Describe what the tool does. Leave out what the model should do.',
    check: ({ warnings }) => warnings.find((text) => text.startsWith('The text at')),
  },
  {
    id: 'manifest-schema', level: 'should', spec: SPEC,
    statement: 'The manifest names its JSON Schema.',
    why: 'Editors complete and check it.',
    cure: 'Add "$schema".',
    check: ({ written }) => written['$schema'] === undefined ? 'there is no "$schema"' : undefined,
  },
  {
    id: 'manifest-title', level: 'should', spec: SPEC,
    statement: 'The extension has a title for people.',
    why: 'Prompts and lists show it.',
    cure: 'Add "title".',
    check: ({ extension: { manifest: { title } } }) => title === undefined ? 'there is no title' : undefined,
  },
  {
    id: 'manifest-description', level: 'should', spec: SPEC,
    statement: 'The extension has a description for people.',
    why: 'A person reads it before an installation.',
    cure: 'Add "description".',
    check: ({ extension: { manifest: { description } } }) =>
      (description ?? '').length < MIN_DESCRIPTION ? `it has ${(description ?? '').length} characters` : undefined,
  },
  {
    id: 'manifest-core-range', level: 'must', spec: SPEC,
    statement: 'requiredCoreVersion excludes the next major version of the host.',
    why: 'A major version may remove what the extension uses.',
    cure: 'Use a range such as ^1.0.0.',
    check: ({ extension: { manifest: { requiredCoreVersion: range } } }) =>
      /^\s*(?:\*|x|>=?[^<|]*|latest)\s*$/i.test(range) ? `${JSON.stringify(range)} has no upper end` : undefined,
  },
  {
    id: 'manifest-version', level: 'must', spec: SPEC,
    statement: 'The version is greater than 0.0.0.',
    why: 'Every update must have a greater one.',
    cure: 'Begin with 0.1.0.',
    check: ({ extension: { version } }) => version.startsWith('0.0.0') ? `it is ${version}` : undefined,
  },
  {
    id: 'manifest-build', level: 'should', spec: SPEC,
    statement: 'The version has no build metadata.',
    why: 'Two versions that differ in it only are equal for semver.',
    cure: 'Raise the patch version instead.',
    check: ({ extension: { version } }) => version.includes('+') ? `it is ${version}` : undefined,
  },
  {
    id: 'tools-count', level: 'should', spec: PUBLISHING,
    statement: `The extension has at most ${MOST_TOOLS} tools.`,
    why: 'Each tool costs a model attention with every message.',
    cure: 'Join tools that differ in one argument, or publish several extensions.',
    check: ({ extension: { manifest: { tools } } }) => tools.length > MOST_TOOLS ? `it has ${tools.length}` : undefined,
  },
  {
    id: 'tool-description', level: 'must', spec: PUBLISHING,
    statement: `The description of a tool has at least ${MIN_DESCRIPTION} characters and is not its name.`,
    why: 'A model chooses a tool by its description.',
    cure: 'Say what it does, what it returns, and when to use it.',
    check: eachTool(({ name, description }) => (description.length < MIN_DESCRIPTION || description === name)
      && `the description is ${JSON.stringify(description)}`),
  },
  {
    id: 'tool-name', level: 'should', spec: PUBLISHING,
    statement: 'The name of a tool is lower case, with _ or - between words.',
    why: 'Some models change the case of names.',
    cure: 'Use a name such as read_calendar.',
    check: eachTool(({ name }) => !/^[a-z][a-z0-9]*(?:[_-][a-z0-9]+)*$/.test(name) && 'its name has another form'),
  },
  {
    id: 'tool-timeout', level: 'should', spec: SPEC,
    statement: 'A tool has a timeout of at most ten minutes.',
    why: 'An agent and its user wait.',
    cure: 'Do less in a call, and report progress.',
    check: eachTool(({ timeoutMs = CALL_LIMITS.defaultTimeoutMs }) => timeoutMs > LONG_TIMEOUT_MS && `${timeoutMs} ms`),
  },
  {
    id: 'tools-distinct', level: 'must', spec: PUBLISHING,
    statement: 'The names of two tools differ in more than case, _ and -.',
    why: 'Models mix them up, and some APIs treat them as equal.',
    cure: 'Give one of them another name.',
    check: ({ extension: { manifest: { tools } } }) => {
      const same = twins(tools, ({ name }) => name.toLowerCase().replaceAll(/[_-]/g, ''))
      return same && `"${same[0].name}" and "${same[1].name}"`
    },
  },
  {
    id: 'tool-description-distinct', level: 'must', spec: PUBLISHING,
    statement: 'No two tools have the same description.',
    why: 'A model cannot choose between them.',
    cure: 'Describe what differs.',
    check: ({ extension: { manifest: { tools } } }) => {
      const same = twins(tools, ({ description }) => description.trim().toLowerCase())
      return same && `"${same[0].name}" and "${same[1].name}" have the same`
    },
  },
  {
    id: 'tool-description-length', level: 'should', spec: PUBLISHING,
    statement: `The description of a tool has at most ${MOST_DESCRIPTION} characters.`,
    why: 'It is sent to the model with every message.',
    cure: 'Move details to the descriptions of arguments and to the README.',
    check: eachTool(({ description }) => description.length > MOST_DESCRIPTION && `it has ${description.length}`),
  },
  {
    id: 'tool-reserved', level: 'must', spec: PUBLISHING,
    statement: 'No tool has the name of a built-in tool.',
    why: 'Hosts refuse a built-in name with another schema or more powers.',
    cure: 'Put the subject into the name, such as read_calendar.',
    check: eachTool(({ name }) => isLockedTool(name) && 'the name is reserved'),
  },
  {
    id: 'tool-timeout-short', level: 'should', spec: SPEC,
    statement: `A timeout is at least ${SHORT_TIMEOUT_MS} ms.`,
    why: 'A busy machine needs longer than yours, and the call fails.',
    cure: 'Declare a longer timeoutMs, or leave it out.',
    check: eachTool(({ timeoutMs = Infinity }) => timeoutMs < SHORT_TIMEOUT_MS && `${timeoutMs} ms`),
  },
  {
    id: 'kind-fits', level: 'must', spec: SPEC,
    statement: 'A tool with effects does not have the kind read, search or think.',
    why: 'Editors show the call as harmless.',
    cure: 'Declare the kind that fits, such as edit, fetch or execute.',
    check: eachTool(({ kind, requires: { fs, shell } }) => (kind === 'read' || kind === 'search' || kind === 'think')
      && ((fs?.write?.length ?? 0) > 0 || (shell?.length ?? 0) > 0) && `it has the kind ${kind}`),
  },
  {
    id: 'examples-valid', level: 'must', spec: SPEC,
    statement: 'The arguments of each example satisfy the inputSchema, and its result the outputSchema.',
    why: 'People and models copy examples.',
    cure: 'Correct the example or the schema.',
    check: eachTool(({ examples = [], inputSchema, outputSchema }) => {
      const input = validatorOf(inputSchema)
      const output = outputSchema && validatorOf(outputSchema)
      return firstOf(examples.entries(), ([index, { arguments: args, result }]) => {
        const fault = input(args) ?? (result === undefined || isJsonObject(result) ? undefined : output?.(result))
        return fault && `example ${index + 1}: ${fault}`
      })
    }),
  },
]
