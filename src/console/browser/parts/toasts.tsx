import * as Toast from 'base-ui/toast'
import { asProblem } from '../api/problem.ts'
import { Icon } from './icon.tsx'
import { texts } from './texts.ts'

const manager = Toast.createToastManager()

/** Says that something was done. */
export const say = (title: string, description?: string) =>
  void manager.add({ title, description, type: 'done' })

/** Says why something could not be done, where no form can show it. */
export const sayFault = (error: unknown) =>
  void manager.add({ title: asProblem(error).message, type: 'fault', timeout: 10_000, priority: 'high' })

export function Toasts() {
  return (
    <Toast.Provider toastManager={manager} timeout={5_000}>
      <Toast.Portal>
        <Toast.Viewport className="toasts">
          <List />
        </Toast.Viewport>
      </Toast.Portal>
    </Toast.Provider>
  )
}

function List() {
  const { toasts } = Toast.useToastManager()
  return toasts.map((toast) => (
    <Toast.Root key={toast.id} toast={toast} className="toast">
      <Icon name={toast.type === 'fault' ? 'alert' : 'check'} />
      <div>
        <Toast.Title className="toast-title" render={<p />} />
        <Toast.Description className="muted small" />
      </div>
      <Toast.Close className="toast-close" aria-label={texts.close}>
        <Icon name="close" size={14} />
      </Toast.Close>
    </Toast.Root>
  ))
}
