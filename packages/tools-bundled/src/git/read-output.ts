import type { JsonObject } from '@bulkhead/kit/json'

const STATES: Readonly<Record<string, string>> = {
  M: 'modified', T: 'type_changed', A: 'added', D: 'deleted', R: 'renamed', C: 'copied',
}
const CONFLICTS: Readonly<Record<string, string>> = {
  DD: 'both_deleted', AU: 'added_by_us', UD: 'deleted_by_them', UA: 'added_by_them', DU: 'deleted_by_us',
  AA: 'both_added', UU: 'both_modified',
}
/** How many fields precede the path in a line of each kind. */
const FIELDS: Readonly<Record<string, number>> = { '1': 8, '2': 9, 'u': 10 }

/** Reads `git status --porcelain=v2 --branch -z`. `truncated`: the last record may be incomplete. */
export function readStatus(output: string, truncated: boolean): JsonObject {
  const records = recordsOf(output, truncated)
  const entries: JsonObject[] = []
  const head: Record<string, string> = {}
  for (let at = 0; at < records.length; at++) {
    const record = records[at]!
    const kind = record[0]!
    if (kind === '#') {
      const [, name = '', value = ''] = /^# branch\.(\S+) (.*)$/s.exec(record) ?? []
      head[name] = value
    } else if (kind === '?') entries.push({ path: record.slice(2), unstaged: 'untracked' })
    else if (kind in FIELDS) entries.push(changedEntry(record, kind, kind === '2' ? records[++at] : undefined))
  }
  const [ahead, behind] = /^\+(\d+) -(\d+)$/.exec(head['ab'] ?? '')?.slice(1).map(Number) ?? []
  return {
    branch: head['head'] === '(detached)' ? null : head['head'] ?? null,
    head: head['oid'] === '(initial)' ? null : head['oid'] ?? null,
    ...(head['upstream'] !== undefined && { upstream: head['upstream'] }),
    ...(ahead !== undefined && behind !== undefined && { ahead, behind }),
    entries,
    ...(truncated && { truncated }),
  }
}

function changedEntry(record: string, kind: string, from: string | undefined): JsonObject {
  const fields = record.split(' ')
  const path = fields.slice(FIELDS[kind]).join(' ')
  const [index = '.', tree = '.'] = fields[1] ?? ''
  if (kind === 'u') return { path, conflict: CONFLICTS[`${index}${tree}`] ?? 'conflict' }
  return {
    path,
    ...(from !== undefined && { from }),
    ...(index !== '.' && { staged: STATES[index] ?? index }),
    ...(tree !== '.' && { unstaged: STATES[tree] ?? tree }),
  }
}

/** NUL-terminated records. An incomplete last one is dropped. */
const recordsOf = (output: string, truncated: boolean): readonly string[] =>
  output.slice(0, truncated ? output.lastIndexOf('\0') + 1 : undefined).split('\0').filter((record) => record !== '')

/** The fields of a commit, each followed by NUL. */
export const COMMIT_FORMAT = '--format=%H%x00%P%x00%an%x00%ae%x00%aI%x00%s%x00'
const COMMIT_FIELDS = 6
/** A commit in a line. */
export const COMMIT_LINES = '--format=%H %aI %an <%ae> %s'

type Commit = JsonObject & { readonly hash: string }

/** Reads commits in the format above, one after another. */
export function readCommits(output: string): readonly Commit[] {
  return recordsOfFields(output, COMMIT_FIELDS).map((fields) => {
    const [hash = '', parents = '', author = '', email = '', date = '', subject = ''] = fields
    const known = parents.split(' ').filter((parent) => parent !== '')
    return { hash: hash.trim(), parents: known, author, email, date, subject }
  })
}

/** Records whose fields are each followed by NUL. An incomplete last one is dropped. */
function recordsOfFields(output: string, count: number): readonly (readonly string[])[] {
  const fields = output.split('\0')
  return Array.from(
    { length: Math.floor((fields.length - 1) / count) }, (_, index) => fields.slice(index * count, (index + 1) * count),
  )
}

/** The format above, with the rest of the message. */
export const WHOLE_FORMAT = `${COMMIT_FORMAT}%b%x00`
/** The whole message. */
export const MESSAGE_LINES = '--format=%B'

/** Reads one commit with its message. */
export function readShownCommit(output: string): Commit {
  const fields = output.split('\0')
  // A field that was cut ends here.
  const [commit] = readCommits(output + '\0'.repeat(COMMIT_FIELDS))
  const body = (fields[COMMIT_FIELDS] ?? '').trimEnd()
  return { ...commit!, ...(body !== '' && { body }) }
}

/** What `branch` lists, each field followed by NUL. */
export const BRANCH_FORMAT = '--format=%(HEAD)%00%(refname:short)%00%(objectname)%00%(upstream:short)%00'
const BRANCH_FIELDS = 4
/** A branch in a line. */
export const BRANCH_LINES = '--format=%(HEAD) %(refname:short) %(objectname) %(upstream:short)'

export const readBranches = (output: string): readonly JsonObject[] =>
  recordsOfFields(output, BRANCH_FIELDS).map(([mark = '', name = '', commit = '', upstream = '']) =>
    ({ name, commit, current: mark.trim() === '*', ...(upstream !== '' && { upstream }) }))
