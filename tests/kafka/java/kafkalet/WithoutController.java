package kafkalet;

import kafka.server.ControllerServer;
import kafka.server.QuorumTestHarness;

import org.junit.jupiter.api.extension.AfterEachCallback;
import org.junit.jupiter.api.extension.BeforeEachCallback;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.mockito.MockedConstruction;
import org.mockito.Mockito;

import java.util.concurrent.CompletableFuture;

/** The harness in Scala starts a controller before the brokers. With this extension of JUnit, it gets one that does nothing. */
public final class WithoutController implements BeforeEachCallback, AfterEachCallback {
    private MockedConstruction<ControllerServer> controllers;

    @Override
    public void beforeEach(ExtensionContext context) {
        if (!(context.getRequiredTestInstance() instanceof QuorumTestHarness)) return;
        controllers = Mockito.mockConstruction(ControllerServer.class, (controller, construction) -> {
            Mockito.when(controller.bootstrapMetadata()).then(call -> construction.arguments().get(2));
            Mockito.when(controller.socketServerFirstBoundPortFuture()).thenReturn(new CompletableFuture<>());
        });
    }

    @Override
    public void afterEach(ExtensionContext context) {
        if (controllers != null) controllers.closeOnDemand();
        controllers = null;
    }
}
