import { useState } from 'preact/hooks'
import type { InstallPreview } from '../../protocol.ts'
import { post } from '../model/api.ts'
import { shown } from '../model/words.ts'
import { Facts, Fault, Lines } from '../parts/texts.tsx'

/** What a package would add, before it is installed. Nothing of it runs. */
export function InstallPreviewForm() {
  const [source, setSource] = useState('')
  const [found, setFound] = useState<InstallPreview>()
  const [fault, setFault] = useState<string>()
  const submit = (event: Event): void => {
    event.preventDefault()
    setFault(undefined)
    setFound(undefined)
    post<InstallPreview>('install-preview', { source }).then(setFound, (error: Error) => setFault(error.message))
  }
  return (
    <section class="panel">
      <header>
        <h2>Before you install</h2>
      </header>
      <div class="body stack">
        <form class="row" onSubmit={submit}>
          <input
            class="mono"
            style={{ flex: '1' }}
            required
            aria-label="Package, folder or file"
            placeholder="a package, a folder or a packed file"
            value={source}
            onInput={(event) => setSource(event.currentTarget.value)}
          />
          <button>Show what it adds</button>
        </form>
        <Fault>{fault}</Fault>
        {found && <Preview of={found} />}
      </div>
    </section>
  )
}

const Preview = ({ of: { extension, version, integrity, signer, tools, adds, problems } }: { of: InstallPreview }) => (
  <>
    <Facts
      of={[
        ['Extension', shown(`${extension} ${version}`)],
        ['Integrity', shown(signer ? `${integrity}, signed by ${signer}` : integrity)],
        ['Adds in total', adds.length > 0 ? <Lines of={adds} /> : 'nothing that is not within reach today'],
        ...tools.map(
          (tool) =>
            [
              tool.name,
              <Lines of={[...tool.may, ...tool.shadows.map((one) => `hides ${one}`), `${tool.tokens} tokens`]} />,
            ] as const,
        ),
      ]}
    />
    {problems.length > 0 && (
      <div class="fault">
        <Lines of={problems} />
      </div>
    )}
  </>
)
