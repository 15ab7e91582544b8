import { realpath } from 'node:fs/promises'
import { resolve } from 'node:path'
import { BulkheadError } from '@bulkhead/contract'
import {
  type Approval, type ApprovalBook, type ApprovalEnd, type ApprovalFilter, type DamagedApproval, openApprovals,
} from '@bulkhead/host'
import { visibleText } from '@bulkhead/kit/text'
import { accountName } from '../../facade/folders.ts'
import { type Command, type CommandOptions, defineSubcommand, UsageError, type ValuesOf } from '../command.ts'
import { HOME_OPTIONS, STORE_OPTION, withStore, type StorePlace } from '../host-options.ts'
import { printJson, table } from '../output.ts'

/** A shorter prefix is probably a typing error. */
const LEAST_ID_CHARS = 4

const BOOK_OPTIONS = {
  json: HOME_OPTIONS.json,
  ...STORE_OPTION,
  home: {
    ...HOME_OPTIONS.home, text: 'folder of the global layer, where approvals are stored (default: ~/.bulkhead)',
  },
} as const satisfies CommandOptions

const CHOICE_OPTIONS = {
  workspace: { type: 'string' },
  project: {
    type: 'string', value: 'DIR', completes: 'folder',
    text: 'approvals of this project (default: this folder); same as --workspace DIR',
  },
  all: { type: 'boolean', text: 'approvals of all projects' },
  tool: { type: 'string', value: 'NAME', completes: 'tool', text: 'approvals of this tool' },
} as const satisfies CommandOptions

const list = defineSubcommand({
  text: 'list the approvals of a project, with expiry and number of uses',
  usage: '[--project | --all]',
  options: {
    ...CHOICE_OPTIONS,
    ended: { type: 'boolean', text: 'include expired and revoked approvals' },
    ...BOOK_OPTIONS,
  },
  async run({ values }) {
    const { all = false, ended = false } = values
    if (all && projectOf(values) !== undefined) throw new UsageError('--all and --project cannot be used together.')
    return inBook(values, async (book) => {
      const filter = { ...await filterOf(values), ended }
      for (const damaged of await book.damaged(filter)) tell(curableText(damaged))
      return book.list(filter)
    }, (found) => approvalTable(found, all))
  },
})

const show = defineSubcommand({
  text: 'show one approval and what it applies to',
  usage: 'ID',
  options: BOOK_OPTIONS,
  async run({ values, positionals: ids }) {
    if (ids.length !== 1) throw new UsageError('Missing id. Use: bulkhead approvals show ID.')
    checkIds(ids)
    return inBook(values, async (book) => [await shown(book, ids[0]!)], ([found]) => approvalDetails(found!))
  },
})

const revoke = defineSubcommand({
  text: 'revoke approvals; running hosts ask again at the next call. Damaged approvals are removed',
  usage: '(ID… | --tool | --all)',
  options: { ...CHOICE_OPTIONS, ...BOOK_OPTIONS },
  async run({ values, positionals: ids }) {
    if ((ids.length > 0) === (values.all === true || values.tool !== undefined)) {
      throw new UsageError('Name the approvals to revoke: ids, --tool NAME, or --all.')
    }
    checkIds(ids)
    const by = `${accountName()} with bulkhead approvals`
    let removed: readonly DamagedApproval[] = []
    return inBook(values, async (book) => {
      const filter = await filterOf(values)
      const wanted = await Promise.all(ids.map((id) => find(book, id, false)))
      removed = ids.length === 0 ? await book.damaged(filter) : wanted.filter(isDamaged)
      const revoked = await Promise.all(
        ids.length === 0 ? [book.revoke(filter, by)] : wanted.map(({ id }) => book.revoke(id, by)),
      )
      for (const damaged of removed) tell(`${damageText(damaged)} It was removed.`)
      return revoked.flat()
    }, (revoked) => revoked.length === 0 && removed.length > 0 ? '' : revokedText(revoked))
  },
})

export const approvals: Command = {
  subcommands: { list, show, revoke },
  operands: { ID: { text: 'id from the list, or the beginning of it' } },
  details: 'Session approvals are never stored. List and revoke them with the API.',
  exits: ['on success', 'if the approval does not exist or the store cannot be read'],
  examples: [
    { command: 'bulkhead approvals list --all', text: 'what is approved, in every project' },
    { command: 'bulkhead approvals revoke --tool bash', text: 'ask again before each command in this folder' },
  ],
}

const inBook = (
  { json, ...place }: StorePlace & { readonly json?: boolean | undefined }, use: (book: ApprovalBook) => Promise<readonly Approval[]>,
  print: (found: readonly Approval[]) => string,
): Promise<number> => withStore(place, 'approval', async (store) => {
  const found = await use(openApprovals(store))
  if (json) printJson(found)
  else process.stdout.write(print(found))
  return 0
})

type Choice = ValuesOf<typeof CHOICE_OPTIONS>

const projectOf = ({ project, workspace }: Choice): string | undefined => project ?? workspace

/** Approvals are stored by real path. For a deleted project, use the given path. */
async function filterOf(choice: Choice): Promise<ApprovalFilter> {
  const { all, tool } = choice
  const project = projectOf(choice)
  const ofTool = tool === undefined ? {} : { tool }
  if (all && project === undefined) return { everywhere: true, ...ofTool }
  const path = project ?? '.'
  return { workspace: await realpath(path).catch(() => resolve(path)), ...ofTool }
}

function checkIds(ids: readonly string[]): void {
  const wrong = ids.find((id) => !/^[0-9a-f]+$/.test(id) || id.length < LEAST_ID_CHARS)
  if (wrong !== undefined) {
    throw new UsageError(`"${wrong}" is not an id. Give at least ${LEAST_ID_CHARS} characters of 0-9 and a-f.`)
  }
}

const curableText = (damaged: DamagedApproval): string =>
  `${damageText(damaged)} To remove it: bulkhead approvals revoke ${damaged.id}.`

const isDamaged = (found: Approval | DamagedApproval): found is DamagedApproval => 'damage' in found

const tell = (line: string): void => void process.stderr.write(`${visibleText(line)}\n`)

async function shown(book: ApprovalBook, start: string): Promise<Approval> {
  const found = await find(book, start, true)
  if (isDamaged(found)) throw new BulkheadError('StoreUnavailable', curableText(found))
  return found
}

async function find(book: ApprovalBook, start: string, ended: boolean): Promise<Approval | DamagedApproval> {
  const everywhere = true
  const all = [...await book.list({ everywhere, ended }), ...await book.damaged({ everywhere })]
  const [found, ...others] = all.filter(({ id }) => id.startsWith(start))
  if (found && others.length === 0) return found
  const why = found
    ? `${others.length + 1} approvals have ids that start with ${start}. Give more characters`
    : `There is no ${ended ? '' : 'active '}approval ${start}`
  throw new BulkheadError('NotFound', `${why}.`, { data: { id: start } })
}

const revokedText = (revoked: readonly Approval[]): string =>
  revoked.length === 0 ? 'Nothing to revoke.\n' : `Revoked:\n${approvalTable(revoked, true)}`

/** `projects` adds the project column. */
function approvalTable(rows: readonly Approval[], projects: boolean): string {
  if (rows.length === 0) return 'No approvals.\n'
  const principals = rows.some(({ principal }) => principal !== undefined)
  const headings = [
    'ID', 'STATUS', 'TOOL', 'EXTENSION', 'GIVEN', 'BY', 'EXPIRES', 'USES', 'LAST USED',
    ...(projects ? ['PROJECT'] : []), ...(principals ? ['PRINCIPAL'] : []), 'KEY',
  ]
  return table(headings, rows.map((approval) => {
    const {
      id, status, tool, origin, callers = [], grantedAt, grantedBy, expiresAt, uses, lastUsedAt, workspace, approvalKey,
    } = approval
    return [
      id, status, [tool, ...callers.map((caller) => caller.tool).toReversed()].join(' called by '),
      `${origin.layer} ${origin.extension}@${origin.version}`, minute(grantedAt), grantedBy, minute(expiresAt),
      String(uses), minute(lastUsedAt), ...(projects ? [workspace] : []),
      ...(principals ? [approval.principal ?? '-'] : []), approvalKey,
    ]
  }))
}

function approvalDetails(approval: Approval): string {
  const { ended, origin, digests } = approval
  const lines: readonly (readonly [string, string])[] = [
    ['id', approval.id],
    ['status', ended === null ? approval.status : endText(ended)],
    ['tool', approval.tool],
    ['key', approval.approvalKey],
    ...(approval.covers === undefined ? [] : [['covers', approval.covers] as const]),
    ['project', approval.workspace],
    ...(approval.principal === undefined ? [] : [['principal', approval.principal] as const]),
    ['given', `${approval.grantedAt} by ${approval.grantedBy}, in session ${approval.sessionId}`],
    ['expires', approval.expiresAt ?? 'with its session'],
    ['used', approval.lastUsedAt === null ? 'never' : `${approval.uses} times, last at ${approval.lastUsedAt}`],
    ['bound to', `${origin.layer} extension ${origin.extension} ${origin.version}`],
    ['  package', digests.package],
    ['  definition', digests.tool],
    ['  powers', digests.capability],
    ...(approval.callers ?? []).map(({ tool, layer, extension }): readonly [string, string] =>
      ['called by', `${tool} of the ${layer} extension ${extension}`]),
  ]
  return lines.map(([label, text]) => `${label.padEnd(12)}  ${visibleText(text)}\n`).join('')
}

const endText = ({ how, at, by }: ApprovalEnd): string => `${how} at ${at}${by === undefined ? '' : ` by ${by}`}`

const damageText = ({ id, damage }: DamagedApproval): string =>
  `Approval ${id} is damaged and is ignored: it ${damage}.`

const minute = (at: string | null): string => at === null ? '-' : `${at.slice(0, 16).replace('T', ' ')}Z`
