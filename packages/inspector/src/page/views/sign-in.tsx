import { useState } from 'preact/hooks'
import { beginWith } from '../model/session.ts'
import { route } from '../model/route.ts'
import { Fault } from '../parts/texts.tsx'

/** How a tab without a key gets one. It then opens what its address asks for. */
export function SignInPage({ why }: { why: string }) {
  const [text, setText] = useState('')
  const [fault, setFault] = useState<string>()
  const submit = (event: Event): void => {
    event.preventDefault()
    beginWith(text).catch((error: Error) => setFault(error.message))
  }
  const isOfCall = route.value.rest !== ''
  return (
    <div class="sign-in">
      <div class="panel">
        <header>
          <h1>Sign in to the inspector</h1>
        </header>
        <form class="body" onSubmit={submit}>
          <p>{why}</p>
          <p>Get a fresh link from the machine that the inspector runs on. It works once, for five minutes:</p>
          <pre class="code command">bulkhead inspect --link</pre>
          <p>Open it{isOfCall && ', and you come back to the call that you asked for'}. Or paste it here:</p>
          <div class="row">
            <label class="field" style={{ flex: '1' }}>
              Link
              <input
                class="mono"
                type="password"
                autocomplete="off"
                spellcheck={false}
                required
                value={text}
                onInput={(event) => setText(event.currentTarget.value)}
              />
            </label>
          </div>
          <Fault>{fault}</Fault>
          <div>
            <button class="main">Sign in</button>
          </div>
        </form>
      </div>
    </div>
  )
}
