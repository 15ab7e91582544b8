import type { InspectorEvent, SignedIn } from '@bulkhead/inspector/protocol'

/** A signed-in client of an inspector that is served at `url`. */
export interface Client {
  get<Answer>(path: string): Promise<Answer>
  post<Answer>(path: string, body: object): Promise<Answer>
  /** Events until the generator is left. */
  events(topics: string): AsyncGenerator<InspectorEvent>
}

/** Uses up the token of a link. */
export async function signIn(link: string): Promise<Client> {
  const { href, hash } = new URL(link)
  const base = href.slice(0, href.indexOf('#'))
  const { key } = await answerOf<SignedIn>(await send(`${base}api/sign-in`, undefined, { token: hash.slice(1) }))
  return {
    get: async (path) => answerOf(await send(`${base}api/${path}`, key)),
    post: async (path, body) => answerOf(await send(`${base}api/${path}`, key, body)),
    async *events(topics) {
      const left = new AbortController()
      try {
        const { body } = await send(`${base}api/events?topics=${topics}`, key, undefined, left.signal)
        let rest = ''
        for await (const chunk of body!.pipeThrough(new TextDecoderStream())) {
          const blocks = (rest + chunk).split('\n\n')
          rest = blocks.pop()!
          for (const block of blocks) {
            const [, type, data] = /^event: (.*)\ndata: (.*)$/.exec(block) ?? []
            if (type !== undefined) yield { ...JSON.parse(data!), type } as InspectorEvent
          }
        }
      } finally {
        left.abort()
      }
    },
  }
}

export const send = (url: string, key?: string, body?: object, signal?: AbortSignal): Promise<Response> => fetch(url, {
  headers: {
    ...(key !== undefined && { authorization: `Bearer ${key}` }), ...(body && { 'content-type': 'application/json' }),
  },
  ...(body && { method: 'POST', body: JSON.stringify(body) }), ...(signal && { signal }),
})

async function answerOf<Answer>(response: Response): Promise<Answer> {
  const answer = await response.json() as Answer & { error?: { code: string; message: string } }
  if (response.ok) return answer
  throw Object.assign(new Error(answer.error!.message), answer.error)
}

/** The first event of a type that a test accepts. */
export async function until<Type extends InspectorEvent['type']>(
  events: AsyncGenerator<InspectorEvent>, type: Type,
  accepts: (event: Extract<InspectorEvent, { type: Type }>) => boolean = () => true,
): Promise<Extract<InspectorEvent, { type: Type }>> {
  for (;;) {
    const { value, done } = await events.next()
    if (done) throw new Error(`The events ended before ${type}.`)
    const event = value as Extract<InspectorEvent, { type: Type }>
    if (event.type === type && accepts(event)) return event
  }
}
