import { render } from 'preact'
import { followEvents } from './model/events.ts'
import { followWaiting } from './model/waiting.ts'
import { begin } from './model/session.ts'
import { App } from './views/app.tsx'

const page = document.createElement('div')
page.id = 'page'
document.body.append(page)
followWaiting()
followEvents()
render(<App />, page)
void begin()
