import { BulkheadError, requireOptions, type Interactor } from '@bulkhead/contract'
import { createInspectorServer, pageCode } from '@bulkhead/inspector'
import { createAnswerLinks, type AnswerLinks } from '@bulkhead/inspector/links'
import { openQuestions } from '@bulkhead/host'
import { messageOf } from '@bulkhead/kit/error-message'
import { onAbort } from '@bulkhead/kit/deadlines'
import { forms, type OptionForms } from '@bulkhead/kit/options'
import type { Host } from '../create-host.ts'
import { inspectable, type Inspectable } from '../inspectable.ts'
import { inspectedHost } from './inspected-host.ts'

export interface InspectorOptions {
  /** Whether people who are signed in may answer, switch tools and capture. Default: false, they only read. */
  readonly decide?: boolean
  /** Where it is mounted, such as `/inspector`. Default: at the root. */
  readonly base?: string
  /** Where browsers reach it besides loopback, such as `https://ops.example`. */
  readonly origins?: readonly string[]
  /** Who answers, for the list of approvals and the audit. Default: the inspector. */
  readonly by?: string
  /** Answers by links, and by a webhook, for the hosts on its store. Needs a store that outlives the process. */
  readonly answers?: {
    /** Where people reach links: https, or http on this machine, at a path of its own such as `/answers/`. */
    readonly base: string
    /** At least 32 characters each. */
    readonly secret: string
    readonly webhookSecret?: string
  }
}

/** A page and a protocol that show what a host does. */
export interface Inspector {
  /** Answers a request. Contract: never rejects. */
  fetch(request: Request): Promise<Response>
  /** The address of the page with a token that signs in once, within five minutes. `at`: where the page is reached. */
  link(at: string | URL): string
  /** Makes links to questions. Absent without `answers`. */
  readonly answers?: Pick<AnswerLinks, 'link' | 'callback'>
  /**
   * A person for sessions: the people who are signed in. A call waits until one of them answers. Without `decide` it
   * answers nothing.
   */
  readonly interactor: Interactor
  /** Ends every connection and every key. The host goes on. Idempotent. */
  close(): void
}

const OPTIONS: OptionForms<InspectorOptions> = {
  decide: forms.flag, base: forms.text, origins: forms.list(forms.text), by: forms.text,
  answers: forms.object,
}

/** Shows a host. Throws ConfigInvalid, also for a host that `createHost` of this package did not make. */
export function createInspector(host: Host, options: InspectorOptions = {}): Inspector {
  requireOptions('createInspector', options, OPTIONS)
  const { decide = false, base = '', origins = [] } = options
  if (base !== '' && !/^(?:\/[\w.~-]+)+$/.test(base)) throw invalid(`"base" must be a path such as /inspector, not "${base}".`)
  for (const origin of origins) {
    if (URL.parse(origin)?.origin !== origin) throw invalid(`"${origin}" is no origin. Write it as https://ops.example.`)
  }
  const inside = inspectable.get(host)
  if (inside === undefined) throw invalid('The host was not made by `createHost` of this package.')
  const answers = options.answers && answersOf(options.answers, inside)
  const server = createInspectorServer(inspectedHost(host, inside, waitsAtDesk), {
    ...options, page: pageCode, linkCommand: 'bulkhead inspect --link',
    onFault: (error) => inside.core.inside.suppressed('inspector', error),
  })
  return {
    fetch: async (request) => await answers?.fetch(request) ?? server.fetch(request),
    ...(answers && { answers: { link: answers.link, callback: answers.callback } }),
    link: (at) => new URL(`${base}/#${server.token()}`, at).href,
    interactor: decide ? waitsAtDesk : answersNothing,
    close: () => server.close(),
  }
}

function answersOf(given: NonNullable<InspectorOptions['answers']>, { store, passkeys }: Inspectable): AnswerLinks {
  if (store.forgets) throw invalid('Links need a store that outlives the process. Pass `store` to `createHost`.')
  try {
    return createAnswerLinks({ ...given, questions: openQuestions(store, passkeys) })
  } catch (thrown) {
    throw invalid(messageOf(thrown))
  }
}

/** The question waits where every question of the host does, and is answered there. */
const waitsAtDesk: Interactor = {
  takesMany: true,
  takesForms: true,
  interact: (_envelope, signal) => new Promise((_resolve, reject) => {
    onAbort(signal, () => reject(signal.reason))
  }),
}

const answersNothing: Interactor = {
  isNobody: true,
  async interact() {
    throw new BulkheadError('InteractionUnavailable', 'The inspector only reads. Create it with `decide: true`.')
  },
}

const invalid = (message: string): BulkheadError => new BulkheadError('ConfigInvalid', message)
